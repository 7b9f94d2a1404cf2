package import JSONText
package import PollerIdentity
package import PollerPayments
package import PollerWatches

/// The authority on sources: Stripe, or any system that answers a GET.
package protocol Upstream: Sendable {
    /// Polls a watch once.
    ///
    /// It never throws: every failure is a result, and ``PollDecider`` decides on it. `timeout` covers everything from
    /// the connection to the last byte of the body.
    func poll(_ watch: Watch, timeout: Duration) async -> PollResult
}

/// Extracts payment facts from the answers of an upstream.
package protocol PaymentReader: Sendable {
    /// Returns the payment facts of an object.
    ///
    /// - Parameters:
    ///   - key: the watch that was polled.
    ///   - object: the answer.
    ///   - charge: the charge of the object, if it was read separately.
    ///   - lists: the charge's disputes and refunds, if they were read separately.
    ///   - seenAt: the time of the request, by the store's clock.
    /// - Returns: The facts; `nil` for an object that is not a known kind of payment.
    func facts(
        of key: WatchKey,
        in object: RawJSON,
        charge: RawJSON?,
        lists: ChargeLists,
        seenAt: Timestamp
    ) -> PaymentFacts?
}

/// Lists of a charge that are read separately, because the charge does not contain all of them.
package struct ChargeLists: Hashable, Sendable {
    /// The upstream's list of the charge's disputes; `nil` if it was not read.
    package var disputes: RawJSON?
    /// The upstream's list of the charge's refunds; `nil` if it was not read.
    package var refunds: RawJSON?

    /// The value when no list was read.
    package static let unread = ChargeLists()
}

/// The result of one poll.
package enum PollResult: Hashable, Sendable {
    /// The upstream returned the source's status.
    case observed(Observation)
    /// The upstream limits all requests for this account and endpoint (429).
    case rateLimited(retryAfter: Duration?)
    /// The upstream limits requests for this object (429); other objects are not affected.
    case objectLimited(retryAfter: Duration?)
    /// This object is locked (429 with code `lock_timeout`); other objects are not affected.
    case lockTimeout
    /// The upstream is unavailable: a network error, a timeout, or a 5xx, which sets `isAnswer`.
    case unavailable(String, retryAfter: Duration?, isAnswer: Bool = false)
    /// The upstream refuses our credentials (401, 403), for this object or the whole lane.
    case unauthorized(String)
    /// The upstream refuses our credentials for the whole account, as Stripe's 401 does.
    case revoked(String)
    /// No request was sent: this process lacks the key or the upstream, and another process may have it.
    case unserved(String)
    /// No process can send the request: the watch lacks its client secret, or its name cannot be part of a URL.
    case unaskable(String)
    /// The upstream does not know the source (404).
    case gone
    /// The answer is unreadable, or came from another system: a page of a proxy, a redirect, half a body.
    case malformed(String)

    /// The observation; `nil` for every other result.
    package var observation: Observation? {
        if case .observed(let seen) = self { seen } else { nil }
    }
}

/// A status that a poll returned.
package struct Observation: Hashable, Sendable {
    /// The values of an observation: more than 200 bytes with about ten references.
    private struct Fields: Hashable, Sendable {
        let status: SourceStatus
        var rank: StatusRank
        let object: RawJSON?
        let detail: String
        let digest: String
        var lists = ChargeLists.unread
        var intent: RawJSON?
        var hasLapsed = false
        var charge: RawJSON?
        var expiresAt: Timestamp?
        var upstreamTime: Timestamp?
        var stretch: Double
    }

    /// A class, because an observation passes through about twenty functions of a poll.
    ///
    /// Each of them copied all values and retained all references.
    private final class Box: Sendable {
        let fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    private var box: Box

    package var status: SourceStatus { box.fields.status }
    /// The progress of the source towards its end.
    package var rank: StatusRank {
        get { box.fields.rank }
        set { change { $0.rank = newValue } }
    }
    /// The upstream's object, unchanged.
    package var object: RawJSON? { box.fields.object }
    /// A short fingerprint of the facts that are worth an event although the status stays: a declined attempt, received
    /// money, another next step.
    ///
    /// Empty without such facts.
    package var detail: String { box.fields.detail }
    /// A fingerprint of the whole object, of six characters; empty without an object.
    ///
    /// If it equals the stored one (`PaymentMemory.object`), nothing has changed.
    package var digest: String { box.fields.digest }
    /// The lists of the object's charge that were read separately.
    package var lists: ChargeLists {
        get { box.fields.lists }
        set { change { $0.lists = newValue } }
    }
    /// The intent of a held charge, which contains how the hold ended; `nil` if it was not read.
    package var intent: RawJSON? {
        get { box.fields.intent }
        set { change { $0.intent = newValue } }
    }
    /// Whether the upstream has an event for the expiry of the charge's hold.
    ///
    /// The charge does not show it.
    package var hasLapsed: Bool {
        get { box.fields.hasLapsed }
        set { change { $0.hasLapsed = newValue } }
    }
    /// The charge of the object, read with more fields than usual; `nil` if the usual ones were enough.
    package var charge: RawJSON? {
        get { box.fields.charge }
        set { change { $0.charge = newValue } }
    }
    /// The time at which the upstream expires an object in this status; `nil` if it does not, or the time is unknown.
    package var expiresAt: Timestamp? { box.fields.expiresAt }
    /// The factor, 1 or more, by which the watch may exceed its policy's wait while nothing changes.
    ///
    /// It is above 1 while another source, such as the account's event sweep, reports changes.
    package var stretch: Double {
        get { box.fields.stretch }
        set {
            // Every poll sets it, and it is usually 1.
            if newValue != box.fields.stretch { change { $0.stretch = newValue } }
        }
    }

    /// Creates an observation.
    ///
    /// `upstreamTime` is the clock reading that `expiresAt` refers to; `nil` for the store's clock.
    package init(
        status: SourceStatus,
        rank: StatusRank,
        object: RawJSON?,
        detail: String = "",
        digest: String = "",
        expiresAt: Timestamp? = nil,
        upstreamTime: Timestamp? = nil,
        stretch: Double = 1
    ) {
        box = Box(
            Fields(
                status: status,
                rank: rank,
                object: object,
                detail: detail,
                digest: digest,
                expiresAt: expiresAt,
                upstreamTime: upstreamTime,
                stretch: stretch
            )
        )
    }

    private mutating func change(_ body: (inout Fields) -> Void) {
        var fields = box.fields
        body(&fields)
        box = Box(fields)
    }

    package static func == (one: Observation, other: Observation) -> Bool {
        one.box === other.box || one.box.fields == other.box.fields
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(box.fields) }

    /// Returns the observation with its expiry converted to the store's clock, which may differ from the upstream's.
    package func converted(at now: Timestamp) -> Observation {
        guard let expiresAt, let upstreamTime = box.fields.upstreamTime else { return self }
        var copy = self
        copy.change {
            $0.expiresAt = now + (expiresAt - upstreamTime)
            $0.upstreamTime = nil
        }
        return copy
    }

    /// Creates an observation whose status is only known to be final or not.
    package init(
        status: SourceStatus,
        final: Bool,
        object: RawJSON?,
        detail: String = "",
        digest: String = "",
        expiresAt: Timestamp? = nil,
        upstreamTime: Timestamp? = nil,
        stretch: Double = 1
    ) {
        self.init(
            status: status,
            rank: final ? .final : .pending,
            object: object,
            detail: detail,
            digest: digest,
            expiresAt: expiresAt,
            upstreamTime: upstreamTime,
            stretch: stretch
        )
    }
}

/// Finds the upstream and the source for a URL.
///
/// A request may name its source by URL. The URL is accepted only if it matches a configured upstream, so no request
/// can make a worker read any other address.
package protocol SourceLocator: Sendable {
    /// Returns the watch key for the resource at a URL.
    ///
    /// - Parameters:
    ///   - url: the URL of the request.
    ///   - account: the upstream that it must belong to; `nil` for any.
    ///   - accounts: the accounts that the caller may access.
    /// - Returns: the watch key.
    /// - Throws: `InvalidInput` if no upstream or several upstreams match.
    func key(
        of url: String,
        account: AccountID?,
        among accounts: AccountSet
    ) throws(InvalidInput) -> WatchKey

    /// Rejects a watch whose account is not configured, because no worker would poll it.
    ///
    /// - `accounts`: the accounts that the caller may access; the error names no other.
    /// - Throws: `InvalidInput` that names the configured accounts.
    func check(_ key: WatchKey, among accounts: AccountSet) throws(InvalidInput)
}

extension SourceLocator {
    /// Accepts every account.
    ///
    /// This is the default for locators that know no accounts.
    package func check(_ key: WatchKey, among accounts: AccountSet) throws(InvalidInput) {}
}
