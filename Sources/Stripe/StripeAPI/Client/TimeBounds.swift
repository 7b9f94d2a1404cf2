/// A span of creation times, in seconds since 1970; `created[gte]=…` and so on.
public struct TimeBounds: Hashable, Sendable {
    /// Later than this.
    public var after: Int?
    /// At this time or later.
    public var from: Int?
    /// Earlier than this.
    public var before: Int?
    /// At this time or earlier.
    public var through: Int?

    /// Creates bounds; those that are nil do not bound.
    public init(after: Int? = nil, from: Int? = nil, before: Int? = nil, through: Int? = nil) {
        self.after = after
        self.from = from
        self.before = before
        self.through = through
    }

    var parameters: [(String, String)] {
        [("gt", after), ("gte", from), ("lt", before), ("lte", through)]
            .compactMap { name, time in time.map { ("created[\(name)]", String($0)) } }
    }
}
