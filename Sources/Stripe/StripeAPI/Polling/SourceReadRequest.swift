/// One look at a Source.
public struct SourceReadRequest: Hashable, Sendable {
    /// `src_…`.
    public let id: String
    /// Required when the reader has a publishable key.
    public let clientSecret: ClientSecret?
    /// The ``SourceSnapshot/seq`` of the last look; nil for the first, which must not wait.
    public let seenSeq: Int?
    /// How long the answer may be held back until there is news; a reader that cannot wait ignores it.
    public let wait: Duration
    /// From now to the answer, without ``wait``.
    public let timeout: Duration

    /// Describes a look.
    public init(
        id: String,
        clientSecret: ClientSecret? = nil,
        seenSeq: Int? = nil,
        wait: Duration = .zero,
        timeout: Duration
    ) {
        self.id = id
        self.clientSecret = clientSecret
        self.seenSeq = seenSeq
        self.wait = wait
        self.timeout = timeout
    }
}
