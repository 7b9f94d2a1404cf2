/// The customer's next action to complete an intent.
///
/// *Shape*: `{"type": "redirect_to_url", "redirect_to_url": {"url": …, "return_url": …}}`.
/// *Source*: <https://docs.stripe.com/api/payment_intents/object>, `next_action`.
public struct NextAction: Codable, Hashable, Sendable {
    /// The type of the action.
    public let type: NextActionType
    /// The redirect, for type `redirect_to_url`.
    public let redirectToURL: RedirectToURL?
    /// The hash named after the type, including `redirect_to_url`.
    public let details: JSONValue?
    /// The complete object as the API sent it, including unknown fields.
    public let allResponseFields: JSONValue

    /// A redirect and its return URL.
    public struct RedirectToURL: Codable, Hashable, Sendable {
        /// The URL to send the customer to.
        public let url: String?
        /// The URL the customer returns to.
        public let returnURL: String?

        private enum CodingKeys: String, SnakeKey {
            case url, returnURL
        }
    }

    /// Decodes the API's object; `type` is required.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: AnyKey.self)
        type = try fields.required("type")
        redirectToURL = try fields.optional("redirect_to_url")
        details = try fields.optional(type.rawValue)
        allResponseFields = try JSONValue(from: decoder)
    }

    /// Encodes the object as it was received.
    public func encode(to encoder: any Encoder) throws {
        try allResponseFields.encode(to: encoder)
    }

    /// The URL of a page that shows the action to the customer; `nil` for types without one.
    ///
    /// Stripe hosts pages for redirects, vouchers, bank transfers, codes and micro-deposits.
    public var hostedURL: String? {
        let names = [
            "url", "hosted_voucher_url", "hosted_instructions_url", "hosted_verification_url",
        ]
        return names.lazy.compactMap { details?[$0]?.string }.first
    }
}

extension NextAction: RedactedValue {
    /// The type only, because addresses include the client secret.
    public var description: String { "next action \(type)" }
}

extension NextAction.RedirectToURL: RedactedValue {
    /// A redacted text, because the URL includes the client secret.
    public var description: String { url == nil ? "no address" : "address (redacted)" }
}

/// The type of a customer's next action.
public struct NextActionType: OpenEnum {
    /// Redirect the customer to a page.
    public static let redirectToURL = Self(rawValue: "redirect_to_url")

    /// Pass the action to Stripe's SDK on the customer's device.
    public static let useStripeSdk = Self(rawValue: "use_stripe_sdk")

    /// Redirect the customer to Alipay.
    public static let alipayHandleRedirect = Self(rawValue: "alipay_handle_redirect")

    /// The customer confirms in the bank's app within one minute.
    public static let blikAuthorize = Self(rawValue: "blik_authorize")

    /// Show the voucher.
    public static let boletoDisplayDetails = Self(rawValue: "boleto_display_details")

    /// Wait until the bank has notified the customer.
    public static let cardAwaitNotification = Self(rawValue: "card_await_notification")

    /// Redirect the customer to Cash App or show its QR code.
    public static let cashappHandleRedirectOrDisplayQRCode = Self(
        rawValue: "cashapp_handle_redirect_or_display_qr_code"
    )

    /// Show the bank transfer instructions.
    public static let displayBankTransferInstructions = Self(
        rawValue: "display_bank_transfer_instructions"
    )

    /// Show Klarna's QR code.
    public static let klarnaDisplayQRCode = Self(rawValue: "klarna_display_qr_code")

    /// Show how to pay at a convenience store.
    public static let konbiniDisplayDetails = Self(rawValue: "konbini_display_details")

    /// Show the entity and reference for the ATM.
    public static let multibancoDisplayDetails = Self(rawValue: "multibanco_display_details")

    /// Show the voucher.
    public static let oxxoDisplayDetails = Self(rawValue: "oxxo_display_details")

    /// Show the QR code.
    public static let paynowDisplayQRCode = Self(rawValue: "paynow_display_qr_code")

    /// Show the QR code.
    public static let pixDisplayQRCode = Self(rawValue: "pix_display_qr_code")

    /// Show the QR code.
    public static let promptpayDisplayQRCode = Self(rawValue: "promptpay_display_qr_code")

    /// Redirect the customer to Swish or show its QR code.
    public static let swishHandleRedirectOrDisplayQRCode = Self(
        rawValue: "swish_handle_redirect_or_display_qr_code"
    )

    /// Redirect the customer to the UPI app or show its QR code.
    public static let upiHandleRedirectOrDisplayQRCode = Self(
        rawValue: "upi_handle_redirect_or_display_qr_code"
    )

    /// Ask for the amounts or the code of two micro-deposits.
    public static let verifyWithMicrodeposits = Self(rawValue: "verify_with_microdeposits")

    /// Show the QR code.
    public static let wechatPayDisplayQRCode = Self(rawValue: "wechat_pay_display_qr_code")

    /// Open the WeChat app on Android.
    public static let wechatPayRedirectToAndroidApp = Self(
        rawValue: "wechat_pay_redirect_to_android_app"
    )

    /// Open the WeChat app on an iPhone.
    public static let wechatPayRedirectToIosApp = Self(rawValue: "wechat_pay_redirect_to_ios_app")

    /// The values known to this version of the library.
    public static let known: Set<String> = [
        "redirect_to_url", "use_stripe_sdk", "alipay_handle_redirect", "blik_authorize",
        "boleto_display_details", "card_await_notification",
        "cashapp_handle_redirect_or_display_qr_code", "display_bank_transfer_instructions",
        "klarna_display_qr_code", "konbini_display_details", "multibanco_display_details",
        "oxxo_display_details", "paynow_display_qr_code", "pix_display_qr_code",
        "promptpay_display_qr_code", "swish_handle_redirect_or_display_qr_code",
        "upi_handle_redirect_or_display_qr_code", "verify_with_microdeposits",
        "wechat_pay_display_qr_code", "wechat_pay_redirect_to_android_app",
        "wechat_pay_redirect_to_ios_app",
    ]

    /// The value as a string; known values are in lower case.
    public let rawValue: String
    /// Creates a value from a string; see ``OpenEnum``.
    public init(rawValue: String) { self.rawValue = Self.normalized(rawValue) }
}
