module example.com/room

go 1.26.0
