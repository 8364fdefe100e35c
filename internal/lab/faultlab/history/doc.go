// Package history makes up what happens to a mount in one run of the fault lab: what programs
// do, what breaks, and when. A history is drawn from a seed, so that a run can be repeated.
//
// A history is a list of sessions. Each begins with a mount on what the one before left,
// and ends in order, with the program killed, or with a crash of the machine: where the
// session says, or sooner at a point of the spool where the program is killed. In between,
// batches of actions run one after the other, the actions of a batch all at once.
//
// The same seed gives the same history. What a run makes of it also depends on the
// schedulers of Go and of the kernel, so a violation may need some repetitions to show again.
package history
