#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
    /// - Throws: ``WebhookError``; with several secrets the last one's.
    public static func constructEvent(
        payload: Data,
        header: String,
        secrets: [String],
        tolerance: Duration? = defaultTolerance,
        now: Int64
    ) throws(WebhookError) -> StripeEvent {
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
                failure = error
                continue
            }
            return try event(payload)
        }
        throw .signature(failure)
    }

    private static func event(_ payload: Data) throws(WebhookError) -> StripeEvent {
        do {
            return try JSONDecoder().decode(StripeEvent.self, from: payload)
        } catch {
            throw .malformed(MalformedBody(error, status: 200, requestID: nil))
        }
    }
}
