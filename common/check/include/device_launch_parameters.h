// Everything of this header of the toolkit is in the prelude.
#pragma once
