/// A stored entry that ended several processes and is no longer processed.
///
/// *Shape* (absent fields are unknown, or the entry belongs to the whole cluster):
/// ```
/// {"id":"outbox:3:1763629800125-0","reader":"outbox","account":"default","about":"src_1","deaths":3,
///  "first_at":"2026-11-20T09:30:00.125Z","set_aside_at":"2026-11-20T09:30:21.480Z"}
/// ```
public struct SetAsideEntry: WireObject, Hashable {
    /// The ID for redrive and dismiss.
    public var id = ""
    /// The reader whose processes ended.
    public var reader = Open(Reader.outbox)
    /// The account of the entry; `nil` for an entry of the cluster.
    public var account: String?
    /// The source, event or endpoint of the entry.
    public var about: String?
    /// The number of processes that ended while they handled the entry.
    public var deaths = 0
    /// The time the first of them began to handle the entry.
    public var firstAt = Time(ms: 0)
    /// The time the entry was set aside.
    public var setAsideAt = Time(ms: 0)

    /// The readers that set entries aside.
    public enum Reader: String, Word {
        /// A recorded event that is to be delivered.
        case outbox
        /// An event of an upstream, from a webhook or its event list.
        case hint
        /// A page of an upstream's event list.
        case sweep
        /// A part of the check for incidents.
        case incident
        /// A replay of an endpoint.
        case replay
        /// A check of an endpoint whose fallback may be due.
        case fallback
        /// The compaction of old events in a partition.
        case retention
    }

    package init() {}

    package static let shape = Shape<SetAsideEntry>("SetAsideEntry") {
        Field("id", \.id).note("The ID for redrive and dismiss.")
        Field("reader", \.reader).note("The reader whose processes ended.")
        Field("account", \.account).note("Left out for an entry of the cluster.")
        Field("about", \.about).note("The source, event or endpoint it is about.")
        Field("deaths", \.deaths, .count).note("Processes that ended while they handled it.")
        Field("first_at", \.firstAt).note("When the first of them began to handle it.")
        Field("set_aside_at", \.setAsideAt).note("When it was set aside.")
    }
}
