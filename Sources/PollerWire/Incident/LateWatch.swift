/// A watch that is polled late, with the reasons.
///
/// *Format* (unknown fields are left out):
/// ```
/// {"source":"src_1","account":"default","kind":"source","order":"A77","lane":"default/sources",
///  "due_at":"2026-11-20T09:30:00.125Z","late_ms":61250,"reasons":["its lane default/sources is paused: resume it"]}
/// ```
public struct LateWatch: WireObject, Hashable {
    /// The ID at the upstream.
    public var source = ""
    /// The account at the upstream.
    public var account = ""
    /// The kind of the object.
    public var kind = Open(Kind.source)
    /// The shop's order ID, if given.
    public var order: String?
    /// The lane of the watch.
    public var lane = ""
    /// The due time.
    public var dueAt = Time(ms: 0)
    /// The delay in milliseconds.
    public var lateMs = 0
    /// The reasons, one sentence each, the most important first.
    public var reasons: [String] = []
    /// The earliest possible time of a poll, as far as known; `nil` if an operator must act first.
    public var earliestPollAt: Time?
    /// The payment as of the last poll.
    public var payment: Payment?

    package init() {}

    package static let shape = Shape<LateWatch>("LateWatch") {
        Field("source", \.source)
        Field("account", \.account)
        Field("kind", \.kind)
        Field("order", \.order)
        Field("lane", \.lane)
        Field("due_at", \.dueAt)
        Field("late_ms", \.lateMs, .count).note("How long it has been due.")
        Field("reasons", \.reasons)
            .note("What the watch waits for, one sentence each, the most important first.")
        Field("earliest_poll_at", \.earliestPollAt).note("The earliest poll, as far as known now.")
        Field("payment", \.payment).note("The payment's state at the last poll.")
    }
}

/// The watches that are polled late, the latest first.
public struct LateWatches: WireObject, Hashable {
    /// The watches with the longest delay.
    public var data: [LateWatch] = []
    /// Due watches in late lanes.
    public var waiting = 0
    /// Whether there are more than ``data`` holds.
    public var hasMore = false

    package init() {}

    package static let shape = Shape<LateWatches>("LateWatches") {
        Field("data", \.data)
        Field("waiting", \.waiting, .count).note("Due watches in the late lanes.")
        Field("has_more", \.hasMore).note("Whether there are more late watches than data contains.")
    }
}
