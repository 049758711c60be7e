package store

import (
	"maps"
	"slices"
	"time"
)

// Below is how many runs a trip claims below a priority, at most.
type Below struct{ Priority, Most int }

// Room is what a replica has for runs of one type.
type Room struct {
	Most    int           // how many more of them it takes
	Timeout time.Duration // of those whose task has none; 0: none
}

// bounded says whether it claims by bounds of the replica's own.
func (t *Trip) bounded() bool { return t.Below != nil || len(t.Capabilities.Rooms) > 0 }

// Bound says whether it has claimed as many below a priority as it may, and might have claimed more.
func (t *Trip) Bound(claims []Claim) bool {
	left := leftBelow(t.Below, claims)
	return len(claims) < t.Want && slices.ContainsFunc(left, func(b Below) bool { return b.Most <= 0 })
}

// leftBelow is what is left below each priority behind these claims.
func leftBelow(below []Below, claims []Claim) []Below {
	left := slices.Clone(below)
	for i := range left {
		for j := range claims {
			if claims[j].Priority < left[i].Priority {
				left[i].Most--
			}
		}
	}
	return left
}

// leftRooms is the room that is left for each type behind these claims.
func leftRooms(rooms map[string]Room, claims []Claim) map[string]Room {
	left := maps.Clone(rooms)
	for i := range claims {
		if room, bound := left[claims[i].Type]; bound {
			room.Most--
			left[claims[i].Type] = room
		}
	}
	return left
}

// fresh are the types of runs that are claimed in one version with their promotion: those without bounds.
func (c *Capabilities) fresh() []string {
	if len(c.Rooms) == 0 {
		return list(c.Types)
	}
	return slices.DeleteFunc(slices.Clone(list(c.Types)), func(name string) bool { _, bound := c.Rooms[name]; return bound })
}

// within are the types that there is room for, with the room and the timeout in s of each; NULL: no type has a bound.
func (c *Capabilities) within() (types []string, rooms []*int, timeouts []float64) {
	if len(c.Rooms) == 0 {
		return list(c.Types), nil, nil
	}
	types = []string{}
	for _, name := range c.Types {
		room, bound := c.Rooms[name]
		switch {
		case !bound:
			rooms, timeouts = append(rooms, nil), append(timeouts, seconds(c.DefaultTimeout))
		case room.Most <= 0:
			continue
		default:
			rooms, timeouts = append(rooms, &room.Most), append(timeouts, seconds(room.Timeout))
		}
		types = append(types, name)
	}
	return types, rooms, timeouts
}

// boundedArgs are those of claim_runs_bounded.
func (w *work) boundedArgs() []any {
	t, c := w.trip, &w.trip.Capabilities
	types, rooms, timeouts := c.within()
	var priorities, below []int32
	for _, b := range t.Below {
		priorities, below = append(priorities, int32(b.Priority)), append(below, int32(b.Most)) //nolint:gosec // a priority of a run, and slots
	}
	return []any{
		t.Replica, w.hashes, seconds(c.DefaultTimeout), list(c.Queues), types, list(c.Databases), list(c.Commands), w.look, w.want,
		rooms, timeouts, priorities, below,
	}
}
