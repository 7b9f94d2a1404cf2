extension SandboxState {
    private static let createParameters: Set<String> = [
        "amount", "currency", "customer", "expand", "flow", "mandate", "metadata",
        "original_source", "owner", "receiver", "redirect", "source_order",
        "statement_descriptor", "token", "type", "usage", "client_secret", "key",
        "payment_user_agent", "muid", "guid", "sid",
    ]

    /// `POST /v1/sources`.
    mutating func createSource(_ call: APICall) throws(APIError) -> APIReply {
        let form = call.form
        let type = try form.required("type")
        guard let kind = SourceKind.all[type] else {
            throw APIError.invalid(
                "Invalid type: must be one of \(SourceKind.all.keys.sorted().joined(separator: ", "))",
                param: "type"
            )
        }
        try form.allow(Self.createParameters.union([type]))
        let usage = try Self.usage(form, type: type, kind: kind)
        let (amount, currency) = try Self.money(form, type: type, kind: kind, usage: usage)
        let owner = try Self.owner(form, kind: kind)
        let returnURL = try Self.returnURL(form, kind: kind)
        if type == "three_d_secure" { try requireCard(form) }

        var source = SandboxSource(
            id: ids.make("src_"),
            type: type,
            kind: kind,
            usage: usage,
            amount: amount,
            currency: currency,
            clientSecret: ids.make("src_client_secret_"),
            created: nowSeconds,
            statementDescriptor: form["statement_descriptor"],
            details: kind.details(of: type, form: form),
            cardLast4: form["card", "number"].map { String($0.suffix(4)) },
            owner: owner,
            metadata: form.texts("metadata")
        )
        attachFlow(to: &source, returnURL: returnURL, base: call.base)
        sources[source.id] = source
        note(source.id, from: nil, to: source.status)
        if source.status == "chargeable" { emit("source.chargeable", sourceJSON(source.id)) }
        settleByName(source)
        let body =
            call.key.isPublishable
            ? APIReply(body: source.render(withMetadata: false))
            : APIReply(body: sourceJSON(source.id))
        return body
    }

    /// Test-mode names that settle without anybody clicking.
    private mutating func settleByName(_ source: SandboxSource) {
        guard source.status == "pending" else { return }
        if source.owner.email?.hasSuffix("_chargeable@example.com") == true {
            actions.append(.settleLater(.source(source.id, status: "chargeable")))
        }
    }

    private static func usage(
        _ form: Form,
        type: String,
        kind: SourceKind
    ) throws(APIError) -> String {
        guard let usage = form["usage"] else { return kind.usage }
        guard usage == "reusable" || usage == "single_use" else {
            throw APIError.invalid(
                "Invalid usage: must be one of reusable or single_use",
                param: "usage"
            )
        }
        // Of the redirect methods only Alipay can be reusable.
        guard usage == "single_use" || kind.usage == "reusable" || type == "alipay" else {
            throw APIError.invalid(
                "Sources of type \(type) do not support usage reusable.",
                code: "invalid_source_usage",
                param: "usage"
            )
        }
        return usage
    }

    private static func money(
        _ form: Form,
        type: String,
        kind: SourceKind,
        usage: String
    ) throws(APIError) -> (Int?, String?) {
        let amount = try form.positive("amount")
        let currency = form["currency"]?.lowercased()
        if usage == "single_use", type != "card", amount == nil { throw APIError.missing("amount") }
        if type == "sofort", let amount, amount < 100 {
            throw APIError.invalid(
                "Amount must be at least €1.00 eur",
                code: "invalid_amount",
                param: "amount"
            )
        }
        guard let currency else {
            if type != "card" { throw APIError.missing("currency") }
            return (amount, nil)
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
        return (amount, currency)
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

    private static func returnURL(_ form: Form, kind: SourceKind) throws(APIError) -> String? {
        let given = form["redirect", "return_url"]
        if kind.flow == "redirect", given ?? "" == "" {
            throw APIError.missing("redirect[return_url]")
        }
        if let given { try requireURL(given, param: "redirect[return_url]") }
        return given
    }

    /// Takes any scheme, since apps come back by their own, but nothing that could break out of a header.
    static func requireURL(_ url: String, param: String) throws(APIError) {
        guard url.contains(":/"), url.utf8.count <= 2048,
            url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { throw APIError.invalid("Not a valid URL", code: "url_invalid", param: param) }
    }

    private func requireCard(_ form: Form) throws(APIError) {
        guard let card = form["three_d_secure", "card"] else {
            throw APIError.missing("three_d_secure[card]")
        }
        guard sources[card]?.type == "card" else {
            throw APIError.noSuch("source", card, param: "three_d_secure[card]", inPath: false)
        }
    }
}
