import ArgumentParser

/// A payment method of `pollerctl source create`: the options it needs and takes, and their parameters.
struct SourceMethod {
    /// The name that users write.
    let name: String
    /// Stripe's type.
    let type: String
    /// The options without which Stripe refuses it.
    let needs: [String]
    /// The options it takes besides, `--email` included.
    let takes: [String]
    /// The options that are fields of the type's own, although other types have them elsewhere.
    private let own: [String]
    /// Parameters that are always sent.
    private let fixed: [String: String]

    /// Describes a method; options are separated by spaces.
    private init(
        _ name: String,
        type: String? = nil,
        needs: String = "",
        takes: String = "",
        own: String = "",
        _ fixed: [String: String] = [:]
    ) {
        func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
        self.name = name
        self.type = type ?? name
        self.needs = words(needs)
        let hasEmail = words(needs + " " + takes).contains("email")
        self.takes = words(takes) + (hasEmail ? [] : ["email"])
        self.own = words(own)
        self.fixed = fixed
    }

    private static let euros = ["currency": "eur"]
    private static let text = "statement-descriptor"
    private static let address = "line1 city postal-code country"

    /// The methods of Stripe's SDKs.
    static let all = [
        SourceMethod("bancontact", needs: "amount name return-url", takes: text, own: text, euros),
        SourceMethod("card", takes: "number cvc exp-month exp-year token name \(address)"),
        SourceMethod("giropay", needs: "amount name return-url", takes: text, own: text, euros),
        SourceMethod(
            "ideal",
            needs: "amount return-url",
            takes: "name \(text) bank",
            own: text,
            euros
        ),
        SourceMethod("sepa_debit", needs: "name iban", takes: address, euros),
        SourceMethod(
            "sofort",
            needs: "amount return-url country",
            takes: text,
            own: "country \(text)",
            euros
        ),
        SourceMethod(
            "klarna",
            needs: "currency return-url purchase-country item",
            takes: "first-name last-name email phone \(address)",
            ["flow": "redirect", "klarna[product]": "payment"]
        ),
        SourceMethod("three_d_secure", needs: "amount currency return-url card"),
        SourceMethod(
            "alipay",
            needs: "amount currency return-url",
            takes: "app-bundle-id app-version-key"
        ),
        SourceMethod(
            "alipay_reusable",
            type: "alipay",
            needs: "currency return-url",
            ["usage": "reusable"]
        ),
        SourceMethod("p24", needs: "amount currency email return-url", takes: "name"),
        SourceMethod("visa_checkout", type: "card", needs: "call-id"),
        SourceMethod("masterpass", type: "card", needs: "cart-id transaction-id"),
        SourceMethod("eps", needs: "amount name return-url", takes: text, euros),
        SourceMethod("multibanco", needs: "amount email return-url", euros),
        SourceMethod("wechat", needs: "amount currency app-id", takes: text, own: text),
        SourceMethod("bitcoin", needs: "amount currency email"),
    ]

    /// The form that creates a source, for a method by its name or for any other type of Stripe's.
    ///
    /// Its parameters are in the order of their names: an idempotency key must not meet other bytes when a request
    /// is repeated. Errors: a usage error that names every option missing or out of place.
    static func form(_ name: String, _ fields: SourceFields) throws -> [(String, String)] {
        let isWord = name.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x5F
        }
        guard isWord, !name.isEmpty else {
            throw ValidationError("TYPE is a payment method such as ideal, not \(name)")
        }
        let known = all.first { $0.name == name }
        let method =
            known
            ?? SourceMethod(
                name,
                takes: "amount currency name phone return-url token \(text) \(address)"
            )
        try method.check(fields, isKnown: known != nil)
        return try method.form(fields)
    }

    private func form(_ fields: SourceFields) throws -> [(String, String)] {
        var form = fixed
        form["type"] = type
        let (items, sum) = try fields.order(in: fields.currency ?? "")
        if !items.isEmpty { form["amount"] = "\(sum)" }
        for (option, parameter, value) in fields.given
        where option != "item" && !leavesOut(option, fields) {
            let field = "\(type)[\(option.replacing("-", with: "_"))]"
            form[own.contains(option) ? field : parameter ?? field] = value
        }
        for (parameter, value) in fields.common { form[parameter] = value }
        return form.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } + items
    }

    /// Whether an option is left out: Klarna refuses a partial description of the customer, and a foreign address.
    private func leavesOut(_ option: String, _ fields: SourceFields) -> Bool {
        guard name == "klarna", takes.contains(option) else { return false }
        let needed = Set(takes).subtracting(["phone"])
        return fields.country != fields.purchaseCountry
            || !needed.isSubset(of: fields.given.map(\.option))
    }

    private func check(_ fields: SourceFields, isKnown: Bool) throws {
        let given = Set(fields.given.map(\.option))
        let missing = needs.filter { !given.contains($0) }
        guard missing.isEmpty else {
            throw ValidationError("\(name) needs \(Self.list(missing)) too; \(usage)")
        }
        let foreign = given.subtracting(needs).subtracting(takes).sorted()
        if let first = foreign.first {
            throw ValidationError(
                isKnown
                    ? "\(name) takes no \(Self.list(foreign)); \(usage)"
                    : "\(name) has no --\(first) here; send other fields with --param \(name)[NAME]=VALUE"
            )
        }
        if name == "card", given.isDisjoint(with: ["token", "number"]) {
            throw ValidationError("card needs --token, or --number with --exp-month, --exp-year")
        }
    }

    /// What it needs and takes, in one line.
    private var usage: String {
        let needed = needs.isEmpty ? "it needs nothing" : "it needs \(Self.list(needs))"
        return takes.isEmpty ? needed : "\(needed) and takes \(Self.list(takes))"
    }

    private static func list(_ options: [String]) -> String {
        options.map { "--\($0)" }.joined(separator: ", ")
    }
}
