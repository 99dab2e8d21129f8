def tightness():
    return []
