/// The sending again of what an endpoint did not get, or of everything since an instant.
package struct ReplayJob: Hashable, Sendable, Codable {
    /// What is sent again.
    package enum Choice: String, Hashable, Sendable, Codable, CaseIterable {
        /// Events that were given up.
        case dead
        /// Every event since an instant, accepted or not.
        case all
    }

    /// How the job stands.
    package enum Progress: String, Hashable, Sendable, Codable {
        case running
        case finished
        case failed
    }

    /// Deliveries a second, unless somebody asks for another rate: 100 endpoints' worth of webhooks
    /// beside the live ones.
    package static let rateStandard = 100
    /// Deliveries looked at by one job: their ids are remembered, so that none is sent twice.
    package static let lookedAtMax = 1_000_000

    package let endpoint: String
    package let choice: Choice
    /// Only events recorded since, in ms; nil for all that are kept.
    package let sinceMs: Int64?
    /// Deliveries a second.
    package let rate: Int
    /// Only count.
    package let isDryRun: Bool
    package var progress = Progress.running
    /// Deliveries looked at so far.
    package var lookedAt = 0
    /// Of those, the ones that have something to send again.
    package var matched = 0
    /// Events that they send again.
    package var events = 0
    /// Deliveries that were being tried all the while, and so were left as they are.
    package var busy = 0
    /// Why it failed.
    package var error: String?

    /// A job that has not begun.
    package init(
        endpoint: EndpointID,
        choice: Choice,
        since: Timestamp?,
        rate: Int = Self.rateStandard,
        isDryRun: Bool = false
    ) {
        self.endpoint = endpoint.description
        self.choice = choice
        sinceMs = since?.ms
        self.rate = rate
        self.isDryRun = isDryRun
    }
}
