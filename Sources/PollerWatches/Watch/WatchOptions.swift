package import PollerOperations
package import PollerPayments

/// The options that a request chooses for a watch.
///
/// They apply until a closed watch starts again. To add an option, add a property here with its rule in
/// ``joined(by:)``, and a case of the store's `WatchOption`. The compiler then asks for its conversions in
/// `WatchRecord.swift`.
package struct WatchOptions: Hashable, Sendable {
    package var policy: PollPolicy
    /// The status up to which the source is followed.
    package var goal: WatchGoal
    /// The actions before a deadline; `unset` selects those of the account, or none.
    package var acts: DeadlineActs
    /// The trace of the caller, which events continue; `nil` when the caller sent none.
    package var trace: TraceContext?

    /// Creates options; the defaults are those of a request without options.
    package init(
        policy: PollPolicy = .auto,
        goal: WatchGoal = .settled,
        acts: DeadlineActs = .unset,
        trace: TraceContext? = nil
    ) {
        self.policy = policy
        self.goal = goal
        self.acts = acts
        self.trace = trace
    }

    /// Returns the options of an open watch after another request joined it.
    ///
    /// The policy stays. The farther goal applies. For each action and the trace, the first request that set it
    /// applies.
    package func joined(by new: WatchOptions) -> WatchOptions {
        WatchOptions(
            policy: policy,
            goal: goal.farther(new.goal),
            acts: acts.filled(by: new.acts),
            trace: trace ?? new.trace
        )
    }
}

extension Watch {
    package var policy: PollPolicy { options.policy }
    /// The status up to which the source is followed.
    package var goal: WatchGoal { options.goal }
    /// The actions before a deadline; `unset` selects those of the account, or none.
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
