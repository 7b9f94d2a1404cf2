/// Where the time of an attempt went, as far as the client tells; in milliseconds.
package struct AttemptPhases: Hashable, Sendable {
    /// Resolving the name.
    package var resolveMs: Int?
    /// Getting a connection, TLS included; about 0 on one that was kept.
    package var connectMs: Int?
    /// From the request's head to the answer's.
    package var firstByteMs: Int?
    /// All in all.
    package var totalMs: Int?

    /// Phases; nil where nobody knows.
    package init(
        resolveMs: Int? = nil,
        connectMs: Int? = nil,
        firstByteMs: Int? = nil,
        totalMs: Int? = nil
    ) {
        self.resolveMs = resolveMs
        self.connectMs = connectMs
        self.firstByteMs = firstByteMs
        self.totalMs = totalMs
    }
}
