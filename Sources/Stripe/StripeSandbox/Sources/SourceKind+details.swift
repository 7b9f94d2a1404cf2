extension SourceKind {
    /// Renders the hash named after the type, with the values given for it.
    ///
    /// - Parameters:
    ///   - type: The type's name.
    ///   - form: What the client gave.
    ///   - card: The card that is charged, for cards and 3D Secure.
    ///   - pageURL: Where the customer pays, for codes to scan.
    /// - Returns: A JSON object.
    func details(
        of type: String,
        form: Form,
        card: SandboxCard? = nil,
        pageURL: String = ""
    ) -> [UInt8] {
        JSONWriter.object { writer in
            for (name, json) in fixedDetails { writer.field(name, raw: json.utf8) }
            for name in nullDetails where !(type == "three_d_secure" && name == "card") {
                writer.field(name, form[type, name])
            }
            switch type {
            case "card":
                card?.renderDetails(into: &writer)
            case "three_d_secure":
                writer.field("card", form[type, "card"])
                writer.field("authenticated", card?.security == "not_supported")
                card?.renderFace(into: &writer)
            case "sepa_debit": Self.debitDetails(form[type, "iban"] ?? "", &writer)
            case "ach_debit": Self.accountDetails(type, form, &writer)
            case "klarna":
                writer.field("purchase_country", form[type, "purchase_country"] ?? "DE")
                for name in ["first_name", "last_name", "locale"] {
                    if let text = form[type, name] { writer.field(name, text) }
                }
            case "wechat":
                writer.field("qr_code_url", pageURL)
                if let app = form[type, "appid"] {
                    writer.field("ios_native_url", "weixin://app/\(app)/pay/?nonceStr=test")
                }
            default: break
            }
        }
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

    private static func accountDetails(_ type: String, _ form: Form, _ writer: inout JSONWriter) {
        writer.field("last4", String((form[type, "account_number"] ?? "000123456789").suffix(4)))
        writer.field("routing_number", form[type, "routing_number"] ?? "110000000")
        writer.field("type", form[type, "type"] ?? "individual")
    }
}
