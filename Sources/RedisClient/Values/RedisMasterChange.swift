/// The server that this client writes to is another one than before.
///
/// What the old one had acknowledged and the new one lacks is lost (``isFailover``), so whoever
/// counts epochs starts a new one.
package struct RedisMasterChange: Sendable, Hashable {
    /// Who was written to; `nil` for slots that nobody served.
    package let old: RedisEndpoint?
    /// Who is written to from now on.
    package let new: RedisEndpoint
    /// The slots of a Cluster that it concerns; empty without a Cluster.
    package let slots: [ClosedRange<Int>]
    /// Whether a replica took over, so that acknowledged writes may be lost; a resharding loses none.
    ///
    /// Also `true` when the old one serves nothing any more, which may have either reason.
    package let isFailover: Bool

    /// A change.
    package init(
        old: RedisEndpoint?,
        new: RedisEndpoint,
        slots: [ClosedRange<Int>] = [],
        isFailover: Bool
    ) {
        self.old = old
        self.new = new
        self.slots = slots
        self.isFailover = isFailover
    }
}
