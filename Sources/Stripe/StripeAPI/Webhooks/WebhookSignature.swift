import Crypto
import SafeNumbers

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Signs and verifies webhook bodies: `Stripe-Signature: t=<unix seconds>,v1=<hex>[,v1=<hex>]`.
///
/// `v1` is HMAC-SHA256 over `<t>.<body>`, keyed with the whole secret, `whsec_` included. Verdicts are those of
/// stripe-python 16.1.0: lower-case hex only, no spaces, the first `t` counts, several `v1` may stand side by
/// side while a secret is rolled, other schemes are ignored, and the signature is checked before the age.
public enum WebhookSignature {
    /// How old a signature may be: 300 s as in the official SDKs.
    public static let defaultTolerance = Duration.seconds(300)

    /// Checks a body against its header, in constant time per signature.
    ///
    /// - Parameters:
    ///   - payload: The body exactly as received; parsing and serialising it again breaks the signature.
    ///   - header: The header's value.
    ///   - secret: The endpoint's `whsec_…`.
    ///   - tolerance: Accepted age; nil or zero accepts any. Timestamps in the future are always accepted.
    ///   - now: Seconds since 1970.
    /// - Throws: ``WebhookSignatureError``.
    public static func verify(
        payload: some DataProtocol,
        header: String,
        secret: String,
        tolerance: Duration? = defaultTolerance,
        now: Int64
    ) throws(WebhookSignatureError) {
        guard !header.isEmpty else { throw .missingHeader }
        guard !secret.isEmpty else { throw .missingSecret }
        let (timestamp, signatures) = try parse(header)
        guard !signatures.isEmpty else { throw .noSignature }

        // Digests are compared in constant time, and every candidate is: time does not tell how near one came.
        let expected = SHA256.hash(
            data: signature(payload: payload, secret: secret, timestamp: timestamp)
        )
        var matches = false
        for candidate in signatures where SHA256.hash(data: Array(candidate.utf8)) == expected {
            matches = true
        }
        guard matches else { throw .noMatch }

        if let tolerance, tolerance > .zero {
            let (oldest, overflow) = now.subtractingReportingOverflow(tolerance.components.seconds)
            guard overflow || timestamp >= oldest else { throw .tooOld(timestamp: timestamp) }
        }
    }

    /// Makes the header for a body, as Stripe does for every attempt.
    ///
    /// - Parameters:
    ///   - payload: The body exactly as it will be sent.
    ///   - secret: The endpoint's `whsec_…`.
    ///   - timestamp: Seconds since 1970.
    /// - Returns: `t=…,v1=…`.
    public static func header(
        payload: some DataProtocol,
        secret: String,
        timestamp: Int64
    ) -> String {
        let hex = signature(payload: payload, secret: secret, timestamp: timestamp)
        return "t=\(timestamp),v1=" + String(decoding: hex, as: UTF8.self)
    }

    /// When a header says that it was signed, seconds since 1970; nil for what is no header.
    package static func timestamp(in header: String) -> Int64? {
        // Why it is none, `verify` says.
        (try? parse(header))?.timestamp
    }

    private static func parse(
        _ header: String
    ) throws(WebhookSignatureError) -> (timestamp: Int64, signatures: [Substring]) {
        var timestamp: Int64?
        var signatures: [Substring] = []
        for item in header.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = item.split(separator: "=", maxSplits: 2, omittingEmptySubsequences: false)
            let value = parts.dropFirst().first
            switch parts.first {
            case "t" where timestamp == nil:
                guard let value, let seconds = Int64(decimal: value) else {
                    throw .malformedHeader
                }
                timestamp = seconds
            case "v1":
                guard let value else { throw .malformedHeader }
                signatures.append(value)
            default:
                continue
            }
        }
        guard let timestamp else { throw .malformedHeader }
        return (timestamp, signatures)
    }

    private static func signature(
        payload: some DataProtocol,
        secret: String,
        timestamp: Int64
    ) -> [UInt8] {
        var hmac = HMAC<SHA256>(key: SymmetricKey(data: Array(secret.utf8)))
        hmac.update(data: Array("\(timestamp).".utf8))
        hmac.update(data: payload)
        let digits = Array("0123456789abcdef".utf8)
        var hex: [UInt8] = []
        hex.reserveCapacity(2 * SHA256.byteCount)
        for byte in hmac.finalize() {
            hex.append(digits[Int(truncatingIfNeeded: byte >> 4)])
            hex.append(digits[Int(truncatingIfNeeded: byte & 15)])
        }
        return hex
    }
}

extension WebhookSignature {
    /// Checks a delivery and decodes its event, in this order: an unsigned body is never parsed.
    ///
    /// The event is a hint: refetch the object before acting. The same event may come again, so acknowledge
    /// what you have seen with 2xx. *Source*: <https://docs.stripe.com/webhooks>.
    ///
    /// - Parameters:
    ///   - payload: The body exactly as received.
    ///   - header: The value of `Stripe-Signature`.
    ///   - secrets: The endpoint's `whsec_…`; two while one is rolled, for at most a day. The first that fits counts.
    ///   - tolerance: Accepted age; nil or zero accepts any.
    ///   - now: Seconds since 1970.
    /// - Returns: The event.
    /// - Throws: ``WebhookError``, as ``constructPayload(payload:header:secrets:tolerance:now:)`` does; also for a thin
    ///   event, which is none with an object.
    public static func constructEvent(
        payload: Data,
        header: String,
        secrets: [String],
        tolerance: Duration? = defaultTolerance,
        now: Int64
    ) throws(WebhookError) -> StripeEvent {
        let constructed = try constructPayload(
            payload: payload,
            header: header,
            secrets: secrets,
            tolerance: tolerance,
            now: now
        )
        guard case .event(let event) = constructed else {
            let reason = "a thin event, \(EventNotification.kind): use constructPayload"
            throw .malformed(MalformedBody(field: nil, reason: reason, status: 200, requestID: nil))
        }
        return event
    }

    /// Checks a delivery and decodes it, be it an event or a thin event, which only names its object.
    ///
    /// Text that cannot be decoded is replaced (U+FFFD), because the signature shows that the event is genuine.
    ///
    /// - Parameters:
    ///   - payload: The body exactly as received.
    ///   - header: The value of `Stripe-Signature`.
    ///   - secrets: The endpoint's `whsec_…`; two while one is rolled, for at most a day. The first that fits counts.
    ///   - tolerance: Accepted age; nil or zero accepts any.
    ///   - now: Seconds since 1970.
    /// - Returns: What was posted.
    /// - Throws: ``WebhookError``; with several secrets ``WebhookSignatureError/tooOld(timestamp:)`` where the signature
    ///   fits one of them, or else the last one's.
    public static func constructPayload(
        payload: Data,
        header: String,
        secrets: [String],
        tolerance: Duration? = defaultTolerance,
        now: Int64
    ) throws(WebhookError) -> WebhookPayload {
        var failure = WebhookSignatureError.missingSecret
        for secret in secrets {
            do throws(WebhookSignatureError) {
                try verify(
                    payload: payload,
                    header: header,
                    secret: secret,
                    tolerance: tolerance,
                    now: now
                )
            } catch {
                // That another secret does not fit says less than that this one does.
                if case .tooOld = failure { continue }
                failure = error
                continue
            }
            return try decoded(payload)
        }
        throw .signature(failure)
    }

    /// What a body may cost whose signature is good: as much as the receiver accepts, in one string or many values.
    private static let bounds = JSONBounds(
        depthMax: 64,
        valuesMax: 400_000,
        stringBytesMax: 16_777_216,
        bytesMax: 16_777_216
    )

    private static func decoded(_ payload: Data) throws(WebhookError) -> WebhookPayload {
        do {
            let isText = String(validating: payload, as: UTF8.self) != nil
            let bytes =
                isText ? Array(payload) : Array(String(decoding: payload, as: UTF8.self).utf8)
            let value = try StripeJSON.value(bytes, bounds: bounds)
            let decoder = JSONTreeDecoder(value)
            return value["object"]?.string == EventNotification.kind
                ? .notification(try decoder.decode(EventNotification.self))
                : .event(try decoder.decode(StripeEvent.self))
        } catch {
            throw .malformed(MalformedBody(error, status: 200, requestID: nil))
        }
    }
}

/// Why a `Stripe-Signature` header was refused; whatever it is, answer 400 and do not act upon the body.
public enum WebhookSignatureError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The header is missing or empty.
    case missingHeader
    /// No secret is configured.
    case missingSecret
    /// The header has no readable timestamp and signatures.
    case malformedHeader
    /// The header has no `v1` signature.
    case noSignature
    /// No `v1` signature belongs to this body and secret.
    case noMatch
    /// Properly signed, but longer ago than the tolerance.
    case tooOld(timestamp: Int64)

    /// One line for an operator that says what to look at.
    public var description: String {
        switch self {
        case .missingHeader: "no Stripe-Signature header"
        case .missingSecret: "no webhook secret is configured; it starts with whsec_"
        case .malformedHeader: "the Stripe-Signature header has no timestamp and signatures"
        case .noSignature: "the Stripe-Signature header has no v1 signature"
        case .noMatch: "no signature matches: wrong secret, or the body was changed on its way"
        case .tooOld(let timestamp): "the signature's timestamp \(timestamp) is too old"
        }
    }
}

/// Why a delivery was refused as a whole.
public enum WebhookError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not from Stripe, changed on its way, or too old: answer 400.
    case signature(WebhookSignatureError)
    /// Signed, and yet not an event: answer 400 and tell an operator.
    case malformed(MalformedBody)

    /// One line for an operator.
    public var description: String {
        switch self {
        case .signature(let error): "\(error)"
        case .malformed(let body): "signed, but not an event: \(body)"
        }
    }
}
