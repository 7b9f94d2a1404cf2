/// The options that a request chooses for a watch.
///
/// They apply until a closed watch starts again. To add an option, add a property here with its rule in ``joined(by:)``, and its field in the store's `WatchOption`.
package struct WatchOptions: Hashable, Sendable {
    package var policy: PollPolicy
    /// How far the source is followed.
    package var goal: WatchGoal
    /// The actions before a deadline; unsaid: those of the account, or none.
    package var acts: DeadlineActs
    /// The trace of the caller, which events carry on; `nil` when the caller sent none.
    package var trace: TraceContext?

    /// Describes options; the defaults are those of a request that names none.
    package init(
        policy: PollPolicy = .auto,
        goal: WatchGoal = .settled,
        acts: DeadlineActs = .unsaid,
        trace: TraceContext? = nil
    ) {
        self.policy = policy
        self.goal = goal
        self.acts = acts
        self.trace = trace
    }

    /// The options of an open watch after another request for it.
    ///
    /// The policy stays, the farther goal holds, and for each action and the trace the first request holds.
    package func joined(by new: WatchOptions) -> WatchOptions {
        WatchOptions(
            policy: policy,
            goal: goal.farther(new.goal),
            acts: acts.filled(by: new.acts),
            trace: trace ?? new.trace
        )
    }
}

/// A value with the options of a watch: the watch, and a request for one.
package protocol HasWatchOptions {
    var options: WatchOptions { get set }
}

extension HasWatchOptions {
    package var policy: PollPolicy { options.policy }
    /// How far the source is followed.
    package var goal: WatchGoal { options.goal }
    /// The actions before a deadline; unsaid: those of the account, or none.
    package var acts: DeadlineActs {
        get { options.acts }
        set { options.acts = newValue }
    }
    /// The trace of the caller; `nil` when the caller sent none.
    package var trace: TraceContext? {
        get { options.trace }
        set { options.trace = newValue }
    }
}
