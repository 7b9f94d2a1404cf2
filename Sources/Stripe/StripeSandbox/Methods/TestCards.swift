/// Stripe's documented test cards by name: the token `tok_visa` or the PaymentMethod `pm_card_visa`.
///
/// Cards of other countries are named after the country, for example `tok_de`.
/// *Source*: <https://docs.stripe.com/testing>.
enum TestCards {
    /// Returns the card number for the part of the name that tokens and PaymentMethods share; `nil` for an unknown
    /// name.
    static func number(_ name: String) -> String? { numbers[name] }

    /// Returns the card of a token such as `tok_visa`.
    static func card(token: String) -> SandboxCard? {
        guard token.hasPrefix("tok_") else { return nil }
        return number(String(token.dropFirst("tok_".count))).map { SandboxCard(number: $0) }
    }

    /// Returns the card of a PaymentMethod such as `pm_card_visa`.
    static func card(method: String) -> SandboxCard? {
        guard method.hasPrefix("pm_card_") else { return nil }
        return number(String(method.dropFirst("pm_card_".count))).map { SandboxCard(number: $0) }
    }

    /// All names and their numbers.
    static let numbers: [String: String] = [
        "visa": "4242424242424242", "visa_debit": "4000056655665556",
        "mastercard": "5555555555554444", "mastercard_debit": "5200828282828210",
        "mastercard_prepaid": "5105105105105100", "amex": "378282246310005",
        "discover": "6011111111111117", "diners": "3056930009020004", "jcb": "3566002020360505",
        "unionpay": "6200000000000005",
        // Declined.
        "chargeDeclined": "4000000000000002", "visa_chargeDeclined": "4000000000000002",
        "chargeDeclinedInsufficientFunds": "4000000000009995",
        "visa_chargeDeclinedInsufficientFunds": "4000000000009995",
        "visa_chargeDeclinedLostCard": "4000000000009987",
        "visa_chargeDeclinedStolenCard": "4000000000009979",
        "chargeDeclinedExpiredCard": "4000000000000069",
        "chargeDeclinedIncorrectCvc": "4000000000000127",
        "chargeDeclinedProcessingError": "4000000000000119",
        "visa_chargeDeclinedVelocityLimitExceeded": "4000000000006975",
        "chargeDeclinedFraudulent": "4100000000000019", "radarBlock": "4100000000000019",
        "chargeCustomerFail": "4000000000000341",
        // High-risk cards and failed checks; the charges succeed.
        "riskLevelHighest": "4000000000004954", "riskLevelElevated": "4000000000009235",
        "cvcCheckFail": "4000000000000101", "avsFail": "4000000000000010",
        "avsLine1Fail": "4000000000000028", "avsZipFail": "4000000000000036",
        "avsUnchecked": "4000000000000044",
        // Disputed and refunded.
        "createDispute": "4000000000000259",
        "createDisputeProductNotReceived": "4000000000002685",
        "createDisputeInquiry": "4000000000001976",
        "pendingRefund": "4000000000007726", "refundFail": "4000000000005126",
        "bypassPending": "4000000000000077",
        // Authenticated.
        "threeDSecure2Required": "4000000000003220", "threeDSecureRequired": "4000000000003063",
        "threeDSecureRequiredChargeDeclined": "4000008400001629",
        "threeDSecureRequiredProcessingError": "4000008400001280",
        "threeDSecureOptional": "4000000000003055",
        "amex_threeDSecureNotSupported": "378282246310005",
        "authenticationRequired": "4000002760003184",
        "authenticationRequiredOnSetup": "4000002500003155",
        "authenticationRequiredSetupForOffSession": "4000003800000446",
        "authenticationRequiredChargeDeclinedInsufficientFunds": "4000008260003178",
    ].merging(national) { first, _ in first }

    /// Cards by issuing country.
    private static let national: [String: String] = [
        "us": "4242424242424242", "at": "4000000400000008", "au": "4000000360000006",
        "be": "4000000560000004", "br": "4000000760000002", "ca": "4000001240000000",
        "ch": "4000007560000009", "de": "4000002760000016", "dk": "4000002080000001",
        "es": "4000007240000007", "fi": "4000002460000001", "fr": "4000002500000003",
        "gb": "4000008260000000", "ie": "4000003720000005", "it": "4000003800000008",
        "jp": "4000003920000003", "mx": "4000004840008001", "nl": "4000005280000002",
        "no": "4000005780000007", "pl": "4000006160000005", "pt": "4000006200000007",
        "se": "4000007520000008",
    ]

    /// Returns the country of a test number: digits seven to nine are the ISO 3166 number.
    static func country(ofNumber number: String) -> String {
        guard number.hasPrefix("400000") else { return "US" }
        return countries[String(number.dropFirst(6).prefix(3))] ?? "US"
    }

    private static let countries: [String: String] = [
        "036": "AU", "040": "AT", "056": "BE", "076": "BR", "124": "CA", "208": "DK", "246": "FI",
        "250": "FR", "276": "DE", "372": "IE", "380": "IT", "392": "JP", "484": "MX", "528": "NL",
        "578": "NO", "616": "PL", "620": "PT", "724": "ES", "752": "SE", "756": "CH", "826": "GB",
    ]
}
