/// What one look at a Source showed.
public struct SourceSnapshot: Hashable, Sendable {
    /// The Source; nil when there is no news of it, or none at all yet.
    public let source: Source?
    /// Its status; nil when there is no news of it, or none at all yet.
    public let status: SourceStatus?
    /// Counts the changes seen by a cluster; nil from Stripe, which does not count.
    public let seq: Int?
    /// Why nobody looks at the Source any more, as `expired`; nil while somebody does.
    public let closedReason: String?

    /// Describes what a look showed.
    public init(
        source: Source?,
        status: SourceStatus? = nil,
        seq: Int? = nil,
        closedReason: String? = nil
    ) {
        self.source = source
        self.status = status ?? source?.status
        self.seq = seq
        self.closedReason = closedReason
    }
}
