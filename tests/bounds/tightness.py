def tightness(): return []
