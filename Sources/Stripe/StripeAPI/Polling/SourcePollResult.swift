/// What polling came to.
public struct SourcePollResult: Hashable, Sendable {
    /// The last Source seen; nil when there was none.
    public let source: Source?
    /// Why it ended.
    public let end: SourcePollEnd
    /// The failure it ended with, or, after a timeout, that of the last look.
    ///
    /// An error is never a failed payment: whoever sees one tells the customer "received, awaiting payment".
    public let error: StripeError?

    /// Describes a result.
    public init(source: Source?, end: SourcePollEnd, error: StripeError? = nil) {
        self.source = source
        self.end = end
        self.error = error
    }
}
