/// The parameters of `POST /v1/sources`, validated like Stripe does.
struct SourceRequest {
    private static let parameters: Set<String> = [
        "amount", "currency", "customer", "expand", "flow", "mandate", "metadata",
        "original_source", "owner", "receiver", "redirect", "source_order",
        "statement_descriptor", "token", "type", "usage", "client_secret", "key",
        "payment_user_agent", "muid", "guid", "sid",
    ]

    /// The supported countries of Sofort.
    private static let sofortCountries = ["AT", "BE", "DE", "ES", "IT", "NL"]

    let type: String
    let kind: SourceKind
    let flow: String
    let usage: String
    let amount: Int?
    let currency: String?
    let owner: SandboxOwner
    let returnURL: String?

    /// Validates the type first, because the other parameters depend on it.
    init(_ call: APICall) throws(APIError) {
        let form = call.form
        type = try form.required("type")
        guard let kind = SourceKind.all[type] else {
            throw APIError.invalid(
                "Invalid type: must be one of \(SourceKind.all.keys.sorted().joined(separator: ", "))",
                param: "type"
            )
        }
        self.kind = kind
        try form.allow(Self.parameters.union([type]))
        flow = try form.choice("flow", kind.flows) ?? kind.flow
        usage = try Self.usage(form, type: type, kind: kind)
        amount = try form.positive("amount")
        currency = form["currency"]?.lowercased()
        owner = try Self.owner(form, kind: kind)
        returnURL = form["redirect", "return_url"].flatMap { $0.isEmpty ? nil : $0 }
        try checkMoney()
        try checkDetails(form)
        if flow == "redirect", returnURL == nil { throw APIError.missing("redirect[return_url]") }
        if let returnURL { try Self.requireURL(returnURL, param: "redirect[return_url]") }
        // Test-mode names for the documented errors of creating a Source.
        switch owner.name {
        case "payment_method_not_available", "processing_error":
            throw APIError.invalid(
                "The payment method is currently not available. Try again later.",
                code: owner.name
            )
        default: break
        }
    }

    private static func usage(
        _ form: Form,
        type: String,
        kind: SourceKind
    ) throws(APIError) -> String {
        let usage = try form.choice("usage", ["reusable", "single_use"]) ?? kind.usage
        guard usage == kind.usage || kind.isEitherUsage else {
            throw APIError.invalid(
                "Sources of type \(type) do not support usage \(usage).",
                code: "invalid_source_usage",
                param: "usage"
            )
        }
        return usage
    }

    private func checkMoney() throws(APIError) {
        if kind.needsAmount(usage: usage, type: type), amount == nil {
            throw APIError.missing("amount")
        }
        if type == "sofort", let amount, amount < 100 {
            throw APIError.invalid(
                "Amount must be at least €1.00 eur",
                code: "invalid_amount",
                param: "amount"
            )
        }
        guard let currency else {
            if type != "card" { throw APIError.missing("currency") }
            return
        }
        guard currency.utf8.count == 3,
            currency.utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) })
        else { throw APIError.invalid("Invalid currency: \(currency)", param: "currency") }
        guard kind.currencies.isEmpty || kind.currencies.contains(currency) else {
            throw APIError.invalid(
                "Sources of type \(type) must use the currency "
                    + kind.currencies.joined(separator: " or ") + ".",
                code: "invalid_currency",
                param: "currency"
            )
        }
    }

    private func checkDetails(_ form: Form) throws(APIError) {
        if type == "sofort", let country = form["sofort", "country"],
            !Self.sofortCountries.contains(country.uppercased())
        {
            throw APIError.invalid(
                "Sofort is not available in \(country).",
                code: "invalid_sofort_country",
                param: "sofort[country]"
            )
        }
        if type == "sepa_debit", let iban = form["sepa_debit", "iban"], !Self.isIBAN(iban) {
            throw APIError.invalid(
                "The IBAN you provided is invalid.",
                code: "invalid_bank_account_iban",
                param: "sepa_debit[iban]"
            )
        }
    }

    private static func owner(_ form: Form, kind: SourceKind) throws(APIError) -> SandboxOwner {
        var owner = SandboxOwner()
        owner.update(from: form)
        for field in kind.ownerRequired {
            guard let text = form["owner", field], !text.isEmpty else {
                throw APIError.missing("owner[\(field)]")
            }
        }
        if kind.ownerRequired.contains("name"), let name = owner.name, name.count < 3 {
            throw APIError.invalid(
                "The owner name must have at least 3 characters.",
                code: "invalid_owner_name",
                param: "owner[name]"
            )
        }
        if let email = owner.email, !email.contains("@") {
            throw APIError.invalid(
                "Invalid email address: \(email)",
                code: "invalid_owner_email",
                param: "owner[email]"
            )
        }
        return owner
    }

    /// Requires a URL.
    ///
    /// Any scheme is allowed, because apps use their own, but no characters that could end a header.
    static func requireURL(_ url: String, param: String) throws(APIError) {
        guard url.contains(":/"), url.utf8.count <= 2048,
            url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { throw APIError.invalid("Not a valid URL", code: "url_invalid", param: param) }
    }

    /// Checks the format: two letters, two digits and 11 to 30 letters or digits.
    ///
    /// Check digits of test IBANs vary.
    private static func isIBAN(_ text: String) -> Bool {
        let plain = text.uppercased().filter { $0 != " " }
        return (15...34).contains(plain.count)
            && plain.prefix(2).allSatisfy { $0.isASCII && $0.isLetter }
            && plain.dropFirst(2).prefix(2).allSatisfy { $0.isASCII && $0.isNumber }
            && plain.dropFirst(4).allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
    }
}
