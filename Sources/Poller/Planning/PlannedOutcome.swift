/// What a planned month comes to, measured in virtual time.
package struct PlannedOutcome: Hashable, Sendable, Encodable {
    /// Sources that begin in thirty days.
    package let sourcesPerMonth: Int
    /// Sources pending at once, on average.
    package let open: Double
    /// How long a source may stay pending, seconds.
    package let lifeSeconds: Double
    /// The policy's name.
    package let policy: String
    /// Who tells of changes.
    package let hints: String
    /// GETs of the source itself, for each source.
    package let pollsPerSource: Double
    /// GETs of the event list, shared by all sources.
    package let sweepsPerSource: Double
    /// Polls a second.
    package let pollsPerSecond: Double
    /// The share of Stripe's read allowance that is used; above 1 it is exceeded.
    package let allowanceUsed: Double
    /// How much longer polls wait in the end, because of the sweep or the allowance.
    package let stretch: Double
    /// From a change to the poll that sees it, seconds, at the median; nil when half were not seen.
    package let knownMedianSeconds: Double?
    /// The same for 99 of 100; nil when more than one of them was not seen.
    package let known99Seconds: Double?
    /// The share of sources whose change was not seen by the end of the run.
    package let unseen: Double

    /// GETs in all, for each source.
    package var getsPerSource: Double { pollsPerSource + sweepsPerSource }

    private enum CodingKeys: String, CodingKey {
        case open, policy, hints, stretch, unseen
        case sourcesPerMonth = "sources_per_month"
        case lifeSeconds = "life_s"
        case pollsPerSource = "polls_per_source"
        case sweepsPerSource = "sweeps_per_source"
        case pollsPerSecond = "polls_per_s"
        case allowanceUsed = "allowance_used"
        case knownMedianSeconds = "known_p50_s"
        case known99Seconds = "known_p99_s"
    }
}
