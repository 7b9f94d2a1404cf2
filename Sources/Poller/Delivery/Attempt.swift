package import PollerIdentity

/// What came of one attempt to tell a customer, and what is known about it.
package struct AttemptResult: Hashable, Sendable {
    /// What follows from it.
    package enum Outcome: String, Hashable, Sendable, CaseIterable {
        /// The receiver has accepted it.
        case delivered
        /// It did not work now and may later.
        case failed
        /// It will never work; no further attempt of this event.
        case rejected
        /// Nothing was sent and nothing is missing: the recipient wants no mail.
        case skipped
    }

    package let outcome: Outcome
    package let kind: AttemptClass
    /// What was wrong, in a few words without secrets; empty when nothing was.
    ///
    /// A delivery that was accepted may have been answered oddly.
    package let reason: String
    /// The receiver's own wish for the next attempt, at most ``RetryAfter/longest``.
    package let retryAfter: Duration?
    /// The HTTP or SMTP status; nil without an answer.
    package var code: Int?
    /// The address that was connected, with its port; nil when it came to none.
    package var address: String?
    package var phases = AttemptPhases()
    /// The beginning of the answer's body, see ``Excerpt``; empty when it was accepted.
    package var excerpt = ""
    /// Identifies the message that was sent (``SentMessage/digest``); `nil` where nothing was sent.
    package var digest: String?

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

    /// The receiver has accepted it.
    package static let delivered = AttemptResult(.delivered, .ok, "")

    /// The receiver has accepted it, with an answer that is not as it should be.
    package static func delivered(despite oddity: String) -> AttemptResult {
        AttemptResult(.delivered, .ok, oddity)
    }

    /// It did not work now and may later; `after` is the receiver's own wish.
    package static func failed(
        _ reason: String,
        _ kind: AttemptClass = .serverError,
        after: Duration? = nil,
        code: Int? = nil
    ) -> AttemptResult {
        AttemptResult(.failed, kind, reason, retryAfter: after, code: code)
    }

    /// Nothing was sent and nothing is missing: the recipient wants no mail.
    package static func skipped(_ reason: String) -> AttemptResult {
        AttemptResult(.skipped, .suppressed, reason)
    }

    /// It will never work; no further attempt of this event.
    package static func rejected(
        _ reason: String,
        _ kind: AttemptClass,
        code: Int? = nil
    ) -> AttemptResult {
        AttemptResult(.rejected, kind, reason, code: code)
    }
}

/// What an attempt came to, by the name operators filter and count by.
package enum AttemptClass: String, Hashable, Sendable, CaseIterable {
    /// Accepted.
    case ok
    /// 3xx: not followed, because the signed body would go to somebody else.
    case redirect
    /// 410: the receiver wants nothing more.
    case gone
    /// 401 or 403.
    case unauthorized
    /// 404.
    case notFound = "not_found"
    /// 429.
    case rateLimited = "rate_limited"
    /// Another 4xx.
    case clientError = "client_error"
    /// 5xx, or an answer that is none.
    case serverError = "server_error"
    /// No connection, or no complete answer, within the time of an attempt.
    case timeout
    /// The connection was closed before an answer.
    case reset
    /// The connection was refused, or there is no route.
    case connect
    /// The certificate or the handshake.
    case tls
    /// The host's name does not resolve.
    case dns
    /// The guard of addresses does not let us connect.
    case blocked
    /// The address or URL itself cannot be used.
    case unusable
    /// A mail relay's 4xx.
    case deferred
    /// A mail relay's 5xx about this mail.
    case refused
    /// Nothing was sent: the recipient has unsubscribed, complained, or does not exist.
    case suppressed
    /// Several notifiers in a row ended during it.
    case poison
    /// Something of ours was missing: the process shuts down, there is no secret.
    case local

    /// Whether nobody has answered.
    package var isSilence: Bool {
        switch self {
        case .timeout, .reset, .connect, .tls, .dns, .blocked: true
        default: false
        }
    }

    /// Whether the next attempt is worth little before a person has changed something.
    package var needsItsOwner: Bool {
        switch self {
        case .unauthorized, .notFound, .tls: true
        default: false
        }
    }
}

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

    /// Phases; nil where it is not known.
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

/// One attempt as the log of its delivery keeps it.
package struct AttemptRecord: Hashable, Sendable {
    /// Attempts kept of a delivery: the default schedule has 13 of one event, so the log tells
    /// the whole story of the event in trouble and the end of the one before.
    package static let countMax = 20
    /// How long the log of a delivery outlives its newest attempt.
    package static let kept = Duration.seconds(30 * 86_400)

    /// When it began, by the store's clock.
    package let at: Timestamp
    /// Nil of one that is so old that only ``seq`` and ``at`` are known yet, to the second: it was accepted.
    package let event: EventID?
    package let seq: Int
    /// 1 for the first attempt of the event, or where that is not known any more.
    package let number: Int
    package let outcome: AttemptResult.Outcome
    package let kind: AttemptClass
    package let code: Int?
    package let address: String?
    package let phases: AttemptPhases
    /// What was wrong; empty when nothing was.
    package let reason: String
    /// The beginning of the answer; empty when it was accepted.
    package let excerpt: String
    /// Identifies the message that was sent (``SentMessage/digest``); `nil` where that is not known.
    package var digest: String?

    /// Records an attempt.
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

    /// What is left of an attempt that was accepted long ago.
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

    /// The attempt once it is old; nil of one of which nothing is kept.
    package var faded: AttemptRecord? {
        guard outcome == .delivered else { return nil }
        return AttemptRecord(acceptedAt: Timestamp(ms: at.ms / 1000 * 1000), seq: seq)
    }

    /// Puts a record together, as a store does.
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

/// The beginning of somebody else's text, fit to be stored and shown.
package enum Excerpt {
    /// What an attempt log keeps of an answer: an error's own words come first, and twenty
    /// attempts of each of 100,000 failing deliveries must fit into Redis.
    package static let bytesMax = 1024

    /// At most ``bytesMax`` bytes as text, without what could steer a terminal or a page.
    ///
    /// Control characters other than line break and tab, the separators U+2028 and U+2029, and
    /// characters that turn the direction of writing become U+FFFD, as bytes do that are no UTF-8.
    ///
    /// `hidden` is what must not be told: it is taken out before anything is cut off.
    package static func text(
        _ bytes: some Sequence<UInt8>,
        hiding hidden: Redaction = .none
    ) -> String {
        let told = hidden.text(Array(bytes))
        let decoded = String(decoding: told.prefix(bytesMax), as: UTF8.self)
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
