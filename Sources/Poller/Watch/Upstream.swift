package import JSONText
package import PollerIdentity

/// Where the truth about sources is: Stripe, or any system that answers a GET.
package protocol Upstream: Sendable {
    /// Asks once. Never throws: whatever happens is one of the results, and what follows from it
    /// is decided elsewhere.
    ///
    /// `timeout` is for everything from the connection to the last byte of the body.
    func poll(_ watch: Watch, timeout: Duration) async -> PollResult
}

/// Reads from what an upstream has answered what it says of a payment.
package protocol PaymentReader: Sendable {
    /// What an object says; nil when it is none of a payment.
    ///
    /// - Parameters:
    ///   - key: what was asked for.
    ///   - object: the answer.
    ///   - charge: the charge of the object, when it was seen beside it.
    ///   - lists: the charge's disputes and refunds, where they were read by themselves.
    ///   - seenAt: when it was asked, by the store's clock.
    /// - Returns: What was seen; nil when nobody can tell of such objects.
    func facts(
        of key: WatchKey,
        in object: RawJSON,
        charge: RawJSON?,
        lists: ChargeLists,
        seenAt: Timestamp
    ) -> PaymentFacts?
}

/// What belongs to a charge and was read by itself, because the charge does not say enough of it.
package struct ChargeLists: Hashable, Sendable {
    /// The upstream's list of the charge's disputes; nil where it was not read.
    package var disputes: RawJSON?
    /// The upstream's list of the charge's refunds; nil where it was not read.
    package var refunds: RawJSON?

    /// Nothing was read by itself.
    package static let unread = ChargeLists()

    /// Lists that were read.
    package init(disputes: RawJSON? = nil, refunds: RawJSON? = nil) {
        self.disputes = disputes
        self.refunds = refunds
    }
}

/// What came of asking the upstream once.
package enum PollResult: Hashable, Sendable {
    /// It told the source's status.
    case observed(Observation)
    /// It wants everybody of this account and endpoint to slow down (429).
    case rateLimited(retryAfter: Duration?)
    /// It limits requests for this one object (429); others are not concerned.
    case objectLimited(retryAfter: Duration?)
    /// This one object is busy (429 with code `lock_timeout`); others are not concerned.
    case lockTimeout
    /// It is down or cannot be reached: network, timeout, or 5xx, with which it has answered.
    case unavailable(String, retryAfter: Duration?, isAnswer: Bool = false)
    /// It refuses our credentials (401, 403), for this object or for all of the lane.
    case unauthorized(String)
    /// The upstream refuses our credentials for everything of the account, as Stripe's 401 does.
    case revoked(String)
    /// The upstream was not asked: this process lacks the key or the upstream, and another may
    /// have it.
    case unserved(String)
    /// The upstream was not asked, and no process can ask it: the watch lacks its client secret, or names
    /// what no URL can be made of.
    case unaskable(String)
    /// It does not know the source (404).
    case gone
    /// It answered what cannot be understood, or something else in its place did: a page of a proxy, a
    /// redirect, half a body.
    case malformed(String)

    /// The observation; `nil` for every other result.
    package var observation: Observation? {
        if case .observed(let seen) = self { seen } else { nil }
    }
}

/// A status that a poll has really seen.
package struct Observation: Hashable, Sendable {
    package let status: SourceStatus
    /// How near to its end the source is.
    package var rank: StatusRank
    /// The upstream's object as it came.
    package let object: RawJSON?
    /// A few characters that change when something changes that somebody waits for although the
    /// status stays: a declined try, money that arrived, another next step.
    ///
    /// Empty when there is nothing of the kind.
    package let detail: String
    /// A fingerprint of the whole object: six characters; empty when there is none.
    ///
    /// Where it is the one that is remembered (``PaymentMemory/object``) nothing can be new.
    package let digest: String
    /// What was read of the object's charge by itself.
    package var lists = ChargeLists.unread
    /// The intent of a charge whose money is held, which says how the hold has ended; nil where nobody has asked
    /// for it.
    package var intent: RawJSON?
    /// Whether the upstream has an event by which the hold of a charge has expired: the charge shows nothing of that.
    package var hasLapsed = false
    /// The charge of the object with more than is read as a rule; nil where that was enough.
    package var charge: RawJSON?
    /// When the upstream itself ends an object that keeps this status; nil when it never does, or
    /// nobody knows.
    package private(set) var expiresAt: Timestamp?
    /// What the clock shows by which ``expiresAt`` is told; nil for the store's.
    private var toldAt: Timestamp?
    /// How much longer than its policy says the watch may wait while nothing changes, 1 or more.
    ///
    /// Above 1 while somebody else, such as the account's event sweep, would tell of a change.
    package var stretch: Double

    /// Describes what was seen.
    package init(
        status: SourceStatus,
        rank: StatusRank,
        object: RawJSON?,
        detail: String = "",
        digest: String = "",
        expiresAt: Timestamp? = nil,
        toldAt: Timestamp? = nil,
        stretch: Double = 1
    ) {
        self.status = status
        self.rank = rank
        self.object = object
        self.detail = detail
        self.digest = digest
        self.expiresAt = expiresAt
        self.toldAt = toldAt
        self.stretch = stretch
    }

    /// The same with its expiry by the store's clock, which may be set otherwise than the upstream's.
    package func told(at now: Timestamp) -> Observation {
        guard let expiresAt, let toldAt else { return self }
        var copy = self
        copy.expiresAt = now + (expiresAt - toldAt)
        copy.toldAt = nil
        return copy
    }

    /// Describes what was seen where a status is final or is not, and no more is known.
    package init(
        status: SourceStatus,
        final: Bool,
        object: RawJSON?,
        detail: String = "",
        digest: String = "",
        expiresAt: Timestamp? = nil,
        toldAt: Timestamp? = nil,
        stretch: Double = 1
    ) {
        self.init(
            status: status,
            rank: final ? .final : .pending,
            object: object,
            detail: detail,
            digest: digest,
            expiresAt: expiresAt,
            toldAt: toldAt,
            stretch: stretch
        )
    }
}

/// Finds the upstream and the source that a URL names.
///
/// A watch may name its source by URL. It is accepted only where an operator has said what is to be
/// read there: nothing outside the configuration is ever asked, whatever a request says.
package protocol SourceLocator: Sendable {
    /// The watch of the resource at a URL.
    ///
    /// - Parameters:
    ///   - url: as a request has it.
    ///   - account: which upstream it must belong to; nil for any.
    ///   - accounts: those that are there for whoever asks.
    /// - Returns: what names the watch.
    /// - Throws: `InvalidInput` for a URL of no upstream, or of several.
    func key(
        of url: String,
        account: AccountID?,
        among accounts: AccountSet
    ) throws(InvalidInput) -> WatchKey

    /// Refuses a watch that nobody will ever poll, because its account is not configured.
    ///
    /// - `accounts`: those that are there for whoever asks; no other is named.
    /// - Throws: `InvalidInput` that names the accounts that are configured.
    func check(_ key: WatchKey, among accounts: AccountSet) throws(InvalidInput)
}

extension SourceLocator {
    /// Whoever knows no accounts refuses none.
    package func check(_ key: WatchKey, among accounts: AccountSet) throws(InvalidInput) {}

    /// The same for who may see every account.
    package func key(of url: String, account: AccountID?) throws(InvalidInput) -> WatchKey {
        try key(of: url, account: account, among: .all)
    }
}
