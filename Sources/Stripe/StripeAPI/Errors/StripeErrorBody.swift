/// The object under `error` in error responses; also the last error of an intent.
///
/// *Shape*:
/// `{"error": {"type": "card_error", "code": "card_declined", "decline_code": …, "message": …}}`.
/// Decoding is lenient: a field of another type counts as missing, because an unreadable error would help no one.
/// *Source*: <https://docs.stripe.com/error-low-level>, `api_errors` of the OpenAPI specification.
public struct StripeErrorBody: Codable, Hashable, Sendable {
    /// The type of the error.
    public let type: StripeErrorType?

    /// The stable error code, for example `resource_missing` or `lock_timeout`.
    public let code: String?

    /// The card issuer's reason for a decline.
    public let declineCode: String?

    /// The message for display; it may quote input.
    public let message: String?

    /// The invalid parameter.
    public let param: String?

    /// The charge created by a failed payment.
    public let charge: String?

    /// The URL of a page about the code.
    public let docURL: String?

    /// The URL of the request in the Dashboard's log.
    public let requestLogURL: String?

    /// The ID of the affected PaymentIntent, `pi_…`; the API sends the whole object.
    public let paymentIntent: String?

    /// The ID of the affected payment method, `pm_…`; the API sends the whole object.
    public let paymentMethod: String?

    /// The type of the affected payment method.
    public let paymentMethodType: String?

    /// The ID of the affected SetupIntent, `seti_…`; the API sends the whole object.
    public let setupIntent: String?

    /// The ID of the affected Source, card or bank account; the API sends the whole object.
    public let source: String?

    /// Decodes the readable fields of the API's object.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        // Lenient, as documented above.
        type = try? fields.optional("type")
        code = try? fields.optional("code")
        declineCode = try? fields.optional("decline_code")
        message = try? fields.optional("message")
        param = try? fields.optional("param")
        charge = try? fields.reference("charge")
        docURL = try? fields.optional("doc_url")
        requestLogURL = try? fields.optional("request_log_url")
        paymentIntent = try? fields.reference("payment_intent")
        paymentMethod = try? fields.reference("payment_method")
        paymentMethodType = try? fields.optional("payment_method_type")
        setupIntent = try? fields.reference("setup_intent")
        source = try? fields.reference("source")
    }

    private enum CodingKeys: String, SnakeKey {
        case type, code, message, param, charge, source, declineCode, docURL, requestLogURL,
            paymentIntent, paymentMethod, paymentMethodType, setupIntent
    }
}

extension StripeErrorBody: RedactedValue {
    /// The type and codes, without the message, which may quote a customer's input.
    public var description: String {
        let words = [type?.rawValue, code, declineCode].compactMap { $0 }
        return words.isEmpty ? "error" : words.joined(separator: " ")
    }
}

/// The type of an API error.
public struct StripeErrorType: OpenEnum {
    /// An error at Stripe.
    public static let apiError = Self(rawValue: "api_error")

    /// The payment method was declined.
    public static let cardError = Self(rawValue: "card_error")

    /// An idempotency key was reused with other parameters.
    public static let idempotencyError = Self(rawValue: "idempotency_error")

    /// The request is invalid.
    public static let invalidRequestError = Self(rawValue: "invalid_request_error")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "api_error", "card_error", "idempotency_error", "invalid_request_error",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}

/// The top-level object of an error response.
struct StripeErrorEnvelope: Decodable {
    let error: StripeErrorBody
}
