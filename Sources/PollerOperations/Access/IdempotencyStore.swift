package import PollerQueue

/// Requests with a client's idempotency key, so that a repeat gets the first response and is not executed again.
///
/// *Problem.* A client without a response does not know whether its request was executed. If a second execution would
/// have another effect (create a second key, replay twice), the client must be able to mark it as a repeat.
///
/// *Approach.* The executing process first claims the request's name under a lease, and stores the response for
/// ``IdempotentRequest/span``. Each operation is atomic in the store, which uses its own clock.
///
/// *After a crash* before the claim nothing has happened. Between claim and response the claim's lease expires. A
/// repeat then executes the request again with the same seed, from which created objects derive their names: so it
/// creates the same object and not a second one. After the response was stored a repeat gets it.
///
/// *Rejected*: a renewed lock, because nothing here renews a lease; a response that is stored without an earlier claim,
/// because two concurrent requests would both be executed.
package protocol IdempotencyStore: Sendable {
    /// Claims a request for ``IdempotentRequest/lease``, unless it is claimed or has a response.
    ///
    /// `owner` is random, and proves the claim; that of the first claim is the seed.
    func claim(_ request: IdempotentRequest, owner: String) async throws(StoreError) -> RequestClaim

    /// Stores the response and ends the claim; false when another process holds it meanwhile.
    func keep(
        _ answer: [UInt8],
        of name: String,
        owner: String
    ) async throws(StoreError) -> Bool

    /// Ends a claim without a response; a claim of another process is not changed.
    ///
    /// `forgets`: nothing was done, so the name is free for any request, unless an earlier claim expired or its result
    /// is unknown.
    func release(_ name: String, owner: String, forgets: Bool) async throws(StoreError)
}

/// A request under its client's idempotency key.
package struct IdempotentRequest: Hashable, Sendable {
    /// The time for which a repeat is recognised, longer than any client retries automatically.
    package static let span = Duration.seconds(86_400)
    /// The time for which an interrupted request blocks its repeat, longer than a few operations of the store with
    /// their timeouts of five seconds.
    package static let lease = Duration.seconds(15)

    /// A digest of the client, the operation and the key.
    package let name: String
    /// A digest of the request: the same key with another request is a mistake.
    package let fingerprint: String
    /// Whether it may be claimed in a full store, because an operator's remedy must work.
    package let isTakenWhenFull: Bool

    /// Creates a request; both digests are 16–64 characters of base64url.
    package init(name: String, fingerprint: String, isTakenWhenFull: Bool) {
        self.name = name
        self.fingerprint = fingerprint
        self.isTakenWhenFull = isTakenWhenFull
    }
}

/// The result of claiming a request.
package enum RequestClaim: Hashable, Sendable {
    /// It is to be executed; the seed is the same for each execution.
    case granted(seed: String)
    /// Another process is executing it, for this long at most.
    case inUse(for: Duration)
    /// The key was used for another request.
    case reused
    /// It was executed, with this response.
    case kept([UInt8])
}
