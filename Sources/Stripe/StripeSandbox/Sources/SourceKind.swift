import JSONText

/// The documented properties of a Source type: flow, usage, time limits and fields.
///
/// A table suffices instead of one type per method, because the methods differ only in these properties and in the
/// details handled by ``details(of:form:card:pageURL:)``.
struct SourceKind {
    /// The supported flows, starting with the default.
    let flows: [String]
    let usage: String
    /// Whether the request may select the usage.
    let isEitherUsage: Bool
    /// The supported currencies; empty for any.
    let currencies: [String]
    /// The required owner fields.
    let ownerRequired: [String]
    /// The fields of that hash that are null until they are set.
    let nullDetails: [String]
    /// The fields with a fixed value: name and JSON.
    let fixedDetails: [(name: String, json: String)]
    /// Whether a charge stays pending for some time.
    let isAsynchronous: Bool
    let expiry: SourceExpiry

    init(
        flows: [String] = ["redirect"],
        usage: String = "single_use",
        isEitherUsage: Bool = false,
        currencies: [String] = [],
        ownerRequired: [String] = [],
        details: [String],
        fixed: [(name: String, json: String)] = [],
        isAsynchronous: Bool = false,
        expiry: SourceExpiry = .redirect
    ) {
        self.flows = flows
        self.usage = usage
        self.isEitherUsage = isEitherUsage
        self.currencies = currencies
        self.ownerRequired = ownerRequired
        nullDetails = details
        fixedDetails = fixed
        self.isAsynchronous = isAsynchronous
        self.expiry = expiry
    }

    /// The default flow.
    var flow: String { flows.first ?? "none" }

    /// Returns whether an amount is required.
    func needsAmount(usage: String, type: String) -> Bool {
        usage == "single_use" && type != "card"
    }
}

extension SourceKind {
    /// Renders the hash named after the type.
    ///
    /// - Parameters:
    ///   - type: The type's name.
    ///   - form: The client's parameters.
    ///   - card: The card, for cards and 3D Secure.
    ///   - pageURL: The URL of the payment page, for QR codes.
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

    /// Renders an IBAN: two letters for the country, two check digits, then the bank code and the account.
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

extension SourceKind {
    private static let cardFields = [
        "address_line1_check", "address_zip_check", "cvc_check", "dynamic_last4", "name",
        "tokenization_method",
    ]

    /// All types.
    ///
    /// The fields come from the OpenAPI specification of 2023-08-16 and from the guide of each method.
    static let all: [String: SourceKind] = redirects.merging(receivers) { first, _ in first }
        .merging(direct) { first, _ in first }

    /// Types whose customer authorises on a page.
    private static let redirects: [String: SourceKind] = [
        "bancontact": SourceKind(
            currencies: ["eur"],
            ownerRequired: ["name"],
            details: [
                "bank_code", "bank_name", "bic", "iban_last4", "preferred_language",
                "statement_descriptor",
            ]
        ),
        "giropay": SourceKind(
            currencies: ["eur"],
            ownerRequired: ["name"],
            details: ["bank_code", "bank_name", "bic", "statement_descriptor"]
        ),
        "ideal": SourceKind(
            currencies: ["eur"],
            details: ["bank", "bic", "iban_last4", "statement_descriptor"]
        ),
        "sofort": SourceKind(
            currencies: ["eur"],
            details: [
                "bank_code", "bank_name", "bic", "country", "iban_last4", "preferred_language",
                "statement_descriptor",
            ],
            isAsynchronous: true
        ),
        "p24": SourceKind(
            currencies: ["eur", "pln"],
            ownerRequired: ["email"],
            details: ["reference"]
        ),
        "eps": SourceKind(
            currencies: ["eur"],
            ownerRequired: ["name"],
            details: ["reference", "statement_descriptor"]
        ),
        "alipay": SourceKind(
            isEitherUsage: true,
            details: ["data_string", "native_url", "statement_descriptor"],
            expiry: .chinese
        ),
        "three_d_secure": SourceKind(
            details: ["card", "customer"] + cardFields,
            fixed: [("three_d_secure", "\"required\"")]
        ),
        "klarna": SourceKind(
            details: ["client_token"],
            fixed: [
                ("payment_method_categories", "\"pay_later\""), ("purchase_type", "\"buy\""),
            ]
        ),
    ]

    /// Types whose customer sends money.
    private static let receivers: [String: SourceKind] = [
        "multibanco": SourceKind(
            flows: ["receiver"],
            currencies: ["eur"],
            ownerRequired: ["email"],
            details: [
                "refund_account_holder_address_city", "refund_account_holder_address_country",
                "refund_account_holder_address_line1", "refund_account_holder_address_line2",
                "refund_account_holder_address_postal_code",
                "refund_account_holder_address_state", "refund_account_holder_name",
                "refund_iban",
            ],
            fixed: [("entity", "\"12345\""), ("reference", "\"123456789\"")],
            expiry: .multibanco
        ),
        "ach_credit_transfer": SourceKind(
            flows: ["receiver"],
            usage: "reusable",
            currencies: ["usd"],
            details: [
                "refund_account_holder_name", "refund_account_holder_type", "refund_routing_number",
            ],
            fixed: [
                ("account_number", "\"test_52796e3294dc\""), ("bank_name", "\"TEST BANK\""),
                ("fingerprint", "\"ecpwEzmBOSMOqQTL\""), ("routing_number", "\"110000000\""),
                ("swift_code", "\"TSTEZ122\""),
            ],
            expiry: .never
        ),
        "sepa_credit_transfer": SourceKind(
            flows: ["receiver"],
            usage: "reusable",
            currencies: ["eur"],
            details: [
                "refund_account_holder_address_city", "refund_account_holder_address_country",
                "refund_account_holder_address_line1", "refund_account_holder_address_line2",
                "refund_account_holder_address_postal_code",
                "refund_account_holder_address_state", "refund_account_holder_name",
                "refund_iban",
            ],
            fixed: [
                ("bank_name", "\"TEST BANK\""), ("bic", "\"SOGEDEFF\""),
                ("iban", "\"DE89370400440532013000\""),
            ],
            expiry: .never
        ),
    ]

    /// Types with no action, a QR code, or a code to confirm.
    private static let direct: [String: SourceKind] = [
        "wechat": SourceKind(
            flows: ["none"],
            details: [],
            fixed: [("prepay_id", "\"wx_prepay_test\""), ("statement_descriptor", "\"\"")],
            expiry: .chinese
        ),
        "card": SourceKind(
            flows: ["none"],
            usage: "reusable",
            isEitherUsage: true,
            details: cardFields,
            fixed: [("fingerprint", "\"Xt5EWLLDS7FJjR1c\"")],
            expiry: .never
        ),
        "card_present": SourceKind(
            flows: ["none"],
            details: ["authorization_code", "pos_device_id", "reader"],
            fixed: [
                ("brand", "\"visa\""), ("country", "\"US\""), ("exp_month", "12"),
                ("exp_year", "2034"), ("funding", "\"credit\""), ("last4", "\"4242\""),
                ("read_method", "\"contact_emv\""),
            ],
            expiry: .never
        ),
        "sepa_debit": SourceKind(
            flows: ["none", "code_verification"],
            usage: "reusable",
            currencies: ["eur"],
            details: ["branch_code"],
            fixed: [
                ("fingerprint", "\"NxdSyRegc9PsMkWy\""),
                ("mandate_reference", "\"NXDSYREGC9PSMKWY\""),
                ("mandate_url", "\"https://hooks.stripe.com/adapter/sepa_debit/file/test\""),
            ],
            isAsynchronous: true,
            expiry: .verification
        ),
        "ach_debit": SourceKind(
            flows: ["code_verification", "none"],
            usage: "reusable",
            currencies: ["usd"],
            details: [],
            fixed: [
                ("bank_name", "\"STRIPE TEST BANK\""), ("country", "\"US\""),
                ("fingerprint", "\"n3SLbL8kzjfUpTHb\""),
            ],
            isAsynchronous: true,
            expiry: .verification
        ),
        "acss_debit": SourceKind(
            flows: ["none", "code_verification"],
            usage: "reusable",
            currencies: ["cad", "usd"],
            details: [
                "bank_address_city", "bank_address_line_1", "bank_address_line_2",
                "bank_address_postal_code", "category",
            ],
            fixed: [
                ("bank_name", "\"STRIPE TEST BANK\""), ("country", "\"CA\""),
                ("fingerprint", "\"xGydXDiv8rdYIwhE\""), ("last4", "\"6789\""),
                ("routing_number", "\"11000000\""),
            ],
            isAsynchronous: true,
            expiry: .verification
        ),
        "au_becs_debit": SourceKind(
            flows: ["none"],
            usage: "reusable",
            currencies: ["aud"],
            details: [],
            fixed: [
                ("bsb_number", "\"000000\""), ("fingerprint", "\"DNMnG0ulqBvNOmwh\""),
                ("last4", "\"3456\""),
            ],
            isAsynchronous: true,
            expiry: .never
        ),
    ]
}
