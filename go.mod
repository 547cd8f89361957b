module foyer

go 1.26.0
