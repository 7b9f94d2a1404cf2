extension SourceKind {
    /// Renders the hash named after the type, with the values given for it.
    func details(of type: String, form: Form) -> [UInt8] {
        JSONWriter.object { writer in
            for (name, json) in fixedDetails { writer.field(name, raw: json.utf8) }
            for name in nullDetails { writer.field(name, form[type, name]) }
            switch type {
            case "card":
                Self.cardDetails(form["card", "number"] ?? "4242424242424242", form, &writer)
            case "sepa_debit": Self.debitDetails(form["sepa_debit", "iban"] ?? "", &writer)
            case "klarna":
                writer.field("purchase_country", form[type, "purchase_country"] ?? "DE")
                if let name = form[type, "first_name"] { writer.field("first_name", name) }
                if let name = form[type, "last_name"] { writer.field("last_name", name) }
            default: break
            }
        }
    }

    private static func cardDetails(_ number: String, _ form: Form, _ writer: inout JSONWriter) {
        let brand =
            switch number.first {
            case "5", "2": "MasterCard"
            case "3": "American Express"
            default: "Visa"
            }
        // Stripe's test cards for 3D Secure: required and optional; all others do not support it.
        let security =
            switch number.suffix(4) {
            case "3063", "3220": "required"
            case "3055": "optional"
            default: "not_supported"
            }
        writer.field("brand", brand)
        writer.field("exp_month", form["card", "exp_month"].flatMap(Int.init) ?? 12)
        writer.field("exp_year", form["card", "exp_year"].flatMap(Int.init) ?? 2034)
        writer.field("last4", String(number.suffix(4)))
        writer.field("three_d_secure", security)
    }

    /// An IBAN is two letters of country, two check digits, and the bank's code in front of the account.
    private static func debitDetails(_ iban: String, _ writer: inout JSONWriter) {
        let plain = iban.filter { $0 != " " }
        writer.field(
            "bank_code",
            plain.count > 12 ? String(plain.dropFirst(4).prefix(8)) : "37040044"
        )
        writer.field("country", plain.count > 2 ? String(plain.prefix(2)).uppercased() : "DE")
        writer.field("last4", plain.count > 4 ? String(plain.suffix(4)) : "3000")
    }
}
