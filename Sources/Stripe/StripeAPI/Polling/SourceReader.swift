/// Where a ``SourcePoller`` looks: Stripe itself, or a poller cluster that watches the Source already.
public protocol SourceReader: Sendable {
    /// Reads a Source once, without retries of its own.
    ///
    /// - Parameter request: Which Source, what is known of it, and how long to take.
    /// - Returns: What is known now.
    /// - Throws: Any ``StripeError``; the poller decides which of them are worth another try.
    func read(_ request: SourceReadRequest) async throws(StripeError) -> SourceSnapshot
}
