package import PollerQueue

/// Requests that their clients have named, so that a repeat is answered and not carried out again.
///
/// *Problem.* A client that got no answer does not know whether its request was carried out. Where the same
/// request again would do more than the first has done (make a second key, replay twice), it must
/// be able to say that it is the same one.
///
/// *Approach.* Who carries a request out claims its name first, under a lease, and keeps what was answered
/// for ``NamedRequest/span``. Each operation is atomic in the store, which goes by its own clock.
///
/// *What a crash leaves.* Before the claim: nothing. Between claim and answer: a claim whose lease ends by
/// itself; a repeat then carries the request out again, under the same seed, from which what it makes has
/// its name: so it makes the same thing again instead of a second one. After the answer was kept: the
/// answer.
///
/// *Rejected*: a lock that is renewed (nothing here renews a lease), and an answer that is kept without a
/// claim before (two at the same time would both be carried out).
package protocol NamedRequests: Sendable {
    /// Claims a request for ``NamedRequest/lease``, unless somebody has it or it was answered.
    ///
    /// `owner` is random, and proves the claim; that of the first claim is the seed.
    func claim(_ request: NamedRequest, owner: String) async throws(StoreError) -> RequestClaim

    /// Keeps what was answered and ends the claim; false when it was somebody else's meanwhile.
    func keep(
        _ answer: [UInt8],
        of name: String,
        owner: String
    ) async throws(StoreError) -> Bool

    /// Ends a claim without an answer; what is somebody else's stays as it is.
    ///
    /// `forgets`: nothing was done, so the name is free for anything, unless an earlier claim has ended by
    /// itself or in doubt: of that one nobody knows.
    func release(_ name: String, owner: String, forgets: Bool) async throws(StoreError)
}

/// A request under the name its client gave.
package struct NamedRequest: Hashable, Sendable {
    /// How long a repeat is known: longer than anybody retries by themselves.
    package static let span = Duration.seconds(86_400)
    /// How long one that was interrupted blocks its repeat: longer than a few operations of the store
    /// take, each with its timeout of five seconds.
    package static let lease = Duration.seconds(15)

    /// Who named it, what for, and the name: a digest of all three.
    package let name: String
    /// A digest of all that was asked for: the same name for another wish is a mistake.
    package let fingerprint: String
    /// Whether it is claimed in a store that is full: what an operator does about that must work.
    package let isTakenWhenFull: Bool

    /// Puts one together; both digests are 16–64 characters of base64url.
    package init(name: String, fingerprint: String, isTakenWhenFull: Bool) {
        self.name = name
        self.fingerprint = fingerprint
        self.isTakenWhenFull = isTakenWhenFull
    }
}

/// What became of a claim on a named request.
package enum RequestClaim: Hashable, Sendable {
    /// It is to be carried out; the seed is the same for each who carries it out.
    case granted(seed: String)
    /// Somebody is carrying it out, for so long at most.
    case inUse(for: Duration)
    /// The name was given to something else.
    case reused
    /// It was carried out, and this was answered.
    case kept([UInt8])
}
