import Crypto
import SafeNumbers

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Creates and verifies webhook signatures: `Stripe-Signature: t=<unix seconds>,v1=<hex>[,v1=<hex>]`.
///
/// `v1` is HMAC-SHA256 over `<t>.<body>`, keyed with the whole secret including `whsec_`. The rules are those of
/// stripe-python 16.1.0: only lower-case hex, no spaces, the first `t` counts, a header may have several `v1` while a
/// secret is rolled, other schemes are ignored, and the signature is checked before the age.
public enum WebhookSignature {
    /// The maximum age of a signature: 300 s as in the official SDKs.
    public static let defaultTolerance = Duration.seconds(300)

    /// Verifies a body and its header, in constant time per signature.
    ///
    /// - Parameters:
    ///   - payload: The body exactly as received; a parsed and serialised copy has another signature.
    ///   - header: The header's value.
    ///   - secret: The endpoint's `whsec_…`.
    ///   - tolerance: The maximum age; `nil` or zero accepts any age. Timestamps in the future are always accepted.
    ///   - now: The current time in seconds since 1970.
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

        // Comparing digests of all candidates takes constant time, so the time does not reveal a partial match.
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

    /// Creates the header for a body, like Stripe does for every attempt.
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

    /// Returns the timestamp of a header in seconds since 1970; `nil` for an invalid header.
    package static func timestamp(in header: String) -> Int64? {
        // `verify` reports why a header is invalid.
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
    /// Verifies a webhook request and then decodes its event.
    ///
    /// An unsigned body is never parsed.
    ///
    /// The event is a hint: fetch the object before acting. The same event may be sent again, so acknowledge known
    /// events with 2xx. *Source*: <https://docs.stripe.com/webhooks>.
    ///
    /// - Parameters:
    ///   - payload: The body exactly as received.
    ///   - header: The value of `Stripe-Signature`.
    ///   - secrets: The endpoint's signing secrets, `whsec_…`: two during a rotation of at most a day. The first
    ///     match counts.
    ///   - tolerance: The maximum age; `nil` or zero accepts any age.
    ///   - now: The current time in seconds since 1970.
    /// - Returns: The event.
    /// - Throws: ``WebhookError``, like ``constructPayload(payload:header:secrets:tolerance:now:)``; also for a thin
    ///   event, which has no object.
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

    /// Verifies a webhook request and decodes it as an event or a thin event.
    ///
    /// Invalid UTF-8 is replaced by U+FFFD, because the signature shows that the event is genuine.
    ///
    /// - Parameters:
    ///   - payload: The body exactly as received.
    ///   - header: The value of `Stripe-Signature`.
    ///   - secrets: The endpoint's signing secrets, `whsec_…`: two during a rotation of at most a day. The first
    ///     match counts.
    ///   - tolerance: The maximum age; `nil` or zero accepts any age.
    ///   - now: The current time in seconds since 1970.
    /// - Returns: The event or thin event.
    /// - Throws: ``WebhookError``. With several secrets it is ``WebhookSignatureError/tooOld(timestamp:)`` if the
    ///   signature matches one of them, otherwise the error of the last secret.
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
                // A mismatch with another secret is less informative than a matching signature that is too old.
                if case .tooOld = failure { continue }
                failure = error
                continue
            }
            return try decoded(payload)
        }
        throw .signature(failure)
    }

    /// The JSON limits of a signed body: the full size that the receiver accepts, in one string or many values.
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

/// The reason why a `Stripe-Signature` header was rejected.
///
/// In every case answer 400 and ignore the body.
public enum WebhookSignatureError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The header is missing or empty.
    case missingHeader
    /// No secret is configured.
    case missingSecret
    /// The header has no readable timestamp and signatures.
    case malformedHeader
    /// The header has no `v1` signature.
    case noSignature
    /// No `v1` signature matches this body and secret.
    case noMatch
    /// The signature is valid, but older than the tolerance.
    case tooOld(timestamp: Int64)

    /// A one-line message for operators that names the cause.
    public var description: String {
        switch self {
        case .missingHeader: "no Stripe-Signature header"
        case .missingSecret: "no webhook secret is configured; it starts with whsec_"
        case .malformedHeader: "the Stripe-Signature header has no timestamp and signatures"
        case .noSignature: "the Stripe-Signature header has no v1 signature"
        case .noMatch: "no signature matches: wrong secret, or the body was modified in transit"
        case .tooOld(let timestamp): "the signature's timestamp \(timestamp) is too old"
        }
    }
}

/// The reason why a webhook request was rejected.
public enum WebhookError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not from Stripe, modified in transit, or too old: answer 400.
    case signature(WebhookSignatureError)
    /// Signed, but not an event: answer 400 and alert an operator.
    case malformed(MalformedBody)

    /// A one-line message for operators.
    public var description: String {
        switch self {
        case .signature(let error): "\(error)"
        case .malformed(let body): "signed, but not an event: \(body)"
        }
    }
}
