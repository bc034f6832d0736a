"""Labels that neighbours agree or differ on: communities, independent sets, colourings."""
