/// What an intent asks its customer to do.
enum SandboxNextAction {
    /// Go to a page and come back.
    case redirect(SandboxRedirect)
    /// Send money to a bank account that is the customer's alone.
    case bankTransfer(pageURL: String)
    /// Read two small amounts on a bank statement and type them in.
    case microdeposits(pageURL: String, arrival: Int)
    /// Scan a code.
    case scan(pageURL: String)

    /// How long an intent waits for it: 48 hours by Stripe's transition guide, ten days for a bank statement.
    var lifeMs: Int64? {
        switch self {
        case .redirect, .scan: 48 * 3_600_000
        case .microdeposits: 10 * 24 * 3_600_000
        case .bankTransfer: nil
        }
    }

    /// Where the customer comes back to.
    var returnURL: String? {
        if case .redirect(let redirect) = self { redirect.returnURL } else { nil }
    }

    /// Renders the action; `missing` is what a bank transfer has still to bring.
    func render(into writer: inout JSONWriter, missing: Int, currency: String, reference: String) {
        writer.object { writer in
            switch self {
            case .redirect(let redirect):
                writer.key("redirect_to_url")
                writer.object { writer in
                    writer.field("return_url", redirect.returnURL)
                    writer.field("url", redirect.url)
                }
                writer.field("type", "redirect_to_url")
            case .bankTransfer(let pageURL):
                writer.key("display_bank_transfer_instructions")
                writer.object { writer in
                    writer.field("amount_remaining", missing)
                    writer.field("currency", currency)
                    writer.key("financial_addresses")
                    writer.array { Self.account(into: &$0) }
                    writer.field("hosted_instructions_url", pageURL)
                    writer.field("reference", reference)
                    writer.field("type", "eu_bank_transfer")
                }
                writer.field("type", "display_bank_transfer_instructions")
            case .microdeposits(let pageURL, let arrival):
                writer.field("type", "verify_with_microdeposits")
                writer.key("verify_with_microdeposits")
                writer.object { writer in
                    writer.field("arrival_date", arrival)
                    writer.field("hosted_verification_url", pageURL)
                    writer.field("microdeposit_type", "amounts")
                }
            case .scan(let pageURL):
                writer.field("type", "wechat_pay_display_qr_code")
                writer.key("wechat_pay_display_qr_code")
                writer.object { writer in
                    writer.field("data", "weixin://wxpay/bizpayurl?pr=test")
                    writer.field("hosted_instructions_url", pageURL)
                    writer.field("image_data_url", "data:image/png;base64,")
                    writer.field("image_url_png", pageURL)
                    writer.field("image_url_svg", pageURL)
                }
            }
        }
    }

    private static func account(into writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("iban")
            writer.object { writer in
                writer.field("account_holder_name", "Stripe Technology Europe Limited")
                writer.field("bic", "SOGEDEFF")
                writer.field("country", "DE")
                writer.field("iban", "DE89370400440532013000")
            }
            writer.field("supported_networks", ["sepa"])
            writer.field("type", "iban")
        }
    }
}
