package import PollerIdentity
package import PollerWatches

/// The result of one delivery attempt, with its details.
package struct AttemptResult: Hashable, Sendable {
    /// The outcome of an attempt.
    package enum Outcome: String, Hashable, Sendable, CaseIterable {
        /// The recipient has accepted the event.
        case delivered
        /// The attempt failed; a later one may succeed.
        case failed
        /// The recipient will never accept the event; no further attempt is made.
        case rejected
        /// Nothing was sent, as intended: the recipient has unsubscribed from email.
        case skipped
    }

    package let outcome: Outcome
    package let kind: AttemptClass
    /// The error in a few words without secrets; empty without one.
    ///
    /// An accepted delivery may have an unusual response.
    package let reason: String
    /// The recipient's `Retry-After`, at most ``RetryAfter/longest``.
    package let retryAfter: Duration?
    /// The HTTP or SMTP status; `nil` without a response.
    package var code: Int?
    /// The connected address with its port; `nil` without a connection.
    package var address: String?
    package var phases = AttemptPhases()
    /// The beginning of the response body, see ``Excerpt``; empty when the event was accepted.
    package var excerpt = ""
    /// The digest of the sent message (``SentMessage/digest``); `nil` if nothing was sent.
    package var digest: String?
    /// Whether a local cause ends only when an operator acts, so that the attempt counts like one at the recipient.
    private var needsOperator = false

    private init(
        _ outcome: Outcome,
        _ kind: AttemptClass,
        _ reason: String,
        retryAfter: Duration? = nil,
        code: Int? = nil
    ) {
        self.outcome = outcome
        self.kind = kind
        self.reason = reason
        self.retryAfter = retryAfter
        self.code = code
    }

    /// Accepted by the recipient.
    package static let delivered = AttemptResult(.delivered, .ok, "")

    /// Accepted by the recipient, with an unusual response.
    package static func delivered(despite oddity: String) -> AttemptResult {
        AttemptResult(.delivered, .ok, oddity)
    }

    /// Failed, to be tried again; `after` is the recipient's `Retry-After`.
    package static func failed(
        _ reason: String,
        _ kind: AttemptClass = .serverError,
        after: Duration? = nil,
        code: Int? = nil
    ) -> AttemptResult {
        AttemptResult(.failed, kind, reason, retryAfter: after, code: code)
    }

    /// Not sent, because a channel or a secret is missing that only an operator can add.
    package static func misconfigured(_ reason: String) -> AttemptResult {
        var result = AttemptResult(.failed, .local, reason)
        result.needsOperator = true
        return result
    }

    /// Whether nothing was sent because of a passing error of this process or its store.
    var isOwnError: Bool { kind == .local && !needsOperator }

    /// Not sent, as intended: the recipient has unsubscribed from email.
    package static func skipped(_ reason: String) -> AttemptResult {
        AttemptResult(.skipped, .suppressed, reason)
    }

    /// Rejected permanently.
    package static func rejected(
        _ reason: String,
        _ kind: AttemptClass,
        code: Int? = nil
    ) -> AttemptResult {
        AttemptResult(.rejected, kind, reason, code: code)
    }
}

/// The class of an attempt, by which operators filter and count.
package enum AttemptClass: String, Hashable, Sendable, CaseIterable {
    /// Accepted.
    case ok
    /// 3xx; not followed, because the signed body would go to another recipient.
    case redirect
    /// 410: the recipient wants no further events.
    case gone
    /// 401 or 403.
    case unauthorized
    /// 404.
    case notFound = "not_found"
    /// 429.
    case rateLimited = "rate_limited"
    /// Another 4xx.
    case clientError = "client_error"
    /// 5xx, or an invalid response.
    case serverError = "server_error"
    /// No connection, or no complete response, within the timeout.
    case timeout
    /// The connection was closed before a response.
    case reset
    /// The connection was refused, or there is no route.
    case connect
    /// The certificate or the TLS handshake failed.
    case tls
    /// The host name does not resolve.
    case dns
    /// The address guard forbids the connection.
    case blocked
    /// The address or URL is unusable.
    case unusable
    /// A mail relay's 4xx.
    case deferred
    /// A mail relay's 5xx about this email.
    case refused
    /// Nothing was sent: the recipient has unsubscribed, complained, or does not exist.
    case suppressed
    /// Several notifiers in a row crashed during it.
    case poison
    /// A local cause: the store cannot be read, the process shuts down, or a secret is missing.
    case local

    /// Whether there was no response.
    package var isSilence: Bool {
        switch self {
        case .timeout, .reset, .connect, .tls, .dns, .blocked: true
        default: false
        }
    }

    /// Whether another attempt is unlikely to succeed until the recipient's owner changes something.
    package var needsOwnerAction: Bool {
        switch self {
        case .unauthorized, .notFound, .tls: true
        default: false
        }
    }
}

/// The durations of the phases of an attempt in milliseconds, as far as known.
package struct AttemptPhases: Hashable, Sendable {
    /// The name resolution.
    package var resolveMs: Int?
    /// Opening a connection, with TLS; about 0 for a reused one.
    package var connectMs: Int?
    /// From the request to the head of the response.
    package var firstByteMs: Int?
    package var totalMs: Int?

    /// Creates phases; `nil` for unknown ones.
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

/// An attempt in the log of its delivery.
package struct AttemptRecord: Hashable, Sendable {
    /// The number of attempts that are kept per delivery.
    ///
    /// The default schedule has 13 per event, so the log covers all attempts of a failing event and the last ones of
    /// the previous event.
    package static let countMax = 20
    /// The time that the log of a delivery is kept after its newest attempt.
    package static let kept = WatchNote.kept

    /// The start of the attempt, by the store's clock.
    package let at: Timestamp
    /// The event; `nil` for an old accepted attempt with only ``seq`` and ``at``, to the second.
    package let event: EventID?
    package let seq: Int
    /// The number of the attempt for its event, from 1; also 1 if it is no longer known.
    package let number: Int
    package let outcome: AttemptResult.Outcome
    package let kind: AttemptClass
    package let code: Int?
    package let address: String?
    package let phases: AttemptPhases
    /// The error; empty without one.
    package let reason: String
    /// The beginning of the response; empty when the event was accepted.
    package let excerpt: String
    /// The digest of the sent message (``SentMessage/digest``); `nil` if it is unknown.
    package var digest: String?

    package init(at: Timestamp, event: Event, number: Int, result: AttemptResult) {
        self.init(
            at: at,
            event: event.id,
            seq: event.seq,
            number: number,
            outcome: result.outcome,
            kind: result.kind,
            code: result.code,
            address: result.address,
            phases: result.phases,
            reason: result.reason,
            excerpt: result.excerpt
        )
        digest = result.digest
    }

    /// Creates the record of an old accepted attempt.
    package init(acceptedAt at: Timestamp, seq: Int) {
        self.init(
            at: at,
            event: nil,
            seq: seq,
            number: 1,
            outcome: .delivered,
            kind: .ok,
            code: nil,
            address: nil,
            phases: AttemptPhases(),
            reason: "",
            excerpt: ""
        )
    }

    /// The form of the attempt that is kept when it is old; `nil` if it is deleted.
    package var withoutDetails: AttemptRecord? {
        guard outcome == .delivered else { return nil }
        return AttemptRecord(acceptedAt: Timestamp(ms: at.ms / 1000 * 1000), seq: seq)
    }

    /// Creates a record from the fields of a store.
    package init(
        at: Timestamp,
        event: EventID?,
        seq: Int,
        number: Int,
        outcome: AttemptResult.Outcome,
        kind: AttemptClass,
        code: Int?,
        address: String?,
        phases: AttemptPhases,
        reason: String,
        excerpt: String
    ) {
        self.at = at
        self.event = event
        self.seq = seq
        self.number = number
        self.outcome = outcome
        self.kind = kind
        self.code = code
        self.address = address
        self.phases = phases
        self.reason = reason
        self.excerpt = excerpt
    }
}

/// The beginning of a foreign text, safe to store and show.
package enum Excerpt {
    /// The size limit of a response in the log, in bytes.
    ///
    /// The error message is at the beginning of a response, and twenty attempts of each of 100,000 failing deliveries
    /// must fit in Redis.
    package static let bytesMax = 1024

    /// Returns at most ``bytesMax`` bytes as text, without characters that could control a terminal or a page.
    ///
    /// Control characters other than line break and tab, the separators U+2028 and U+2029, and bidirectional controls
    /// become U+FFFD, as do invalid UTF-8 bytes.
    ///
    /// `hidden` contains the secrets, which are removed before the text is truncated.
    package static func text(
        _ bytes: some Sequence<UInt8>,
        hiding hidden: Redaction = .none
    ) -> String {
        let redacted = hidden.text(Array(bytes))
        let decoded = String(decoding: redacted.prefix(bytesMax), as: UTF8.self)
        var text = String.UnicodeScalarView()
        var size = 0
        for scalar in decoded.unicodeScalars {
            let shown = isSafe(scalar) ? scalar : "\u{FFFD}"
            size += UTF8.width(shown)
            guard size <= bytesMax else { break }
            text.append(shown)
        }
        return String(text)
    }

    private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: true
        case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: false
        default: true
        }
    }
}
