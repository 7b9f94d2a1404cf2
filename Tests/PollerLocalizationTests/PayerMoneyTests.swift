import PollerIdentity
import PollerPayments
import PollerWatches
import Testing

@testable import PollerLocalization

@Suite("Amounts, dates and languages")
struct PayerMoneyTests {
    @Test(
        "an amount has the decimals of its currency and the format of its language",
        arguments: [
            (1099, "eur", PayerLanguage.en, "€10.99"), (1099, "eur", .de, "10,99 €"),
            (123_456_789, "eur", .de, "1.234.567,89 €"), (1099, "eur", .fr, "10,99 €"),
            (1099, "eur", .nl, "€ 10,99"), (1099, "eur", .es, "10,99 €"),
            (1099, "eur", .it, "10,99 €"), (1099, "pln", .pl, "10,99 zł"),
            (1099, "eur", .pt, "10,99 €"), (1099, "brl", .pt, "R$ 10,99"),
            (5, "usd", .en, "$0.05"), (1099, "jpy", .en, "JP¥1,099"), (1099, "jpy", .de, "1.099 ¥"),
            (1099, "kwd", .en, "KWD 1.099"), (1_099_500, "kwd", .de, "1.099,500 KWD"),
            (0, "eur", .en, "€0.00"), (500, "gbp", .en, "£5.00"),
            (500_000, "ugx", .en, "UGX 5,000"), (500_000, "isk", .en, "ISK 5,000"),
            (500_000, "isk", .de, "5.000 ISK"), (500_000, "huf", .en, "HUF 5,000.00"),
            (500_050, "ugx", .en, "UGX 5,000.50"),
            (999_999_999_999, "idr", .en, "IDR 9,999,999,999.99"),
        ]
    )
    func sums(amount: Amount, currency: String, language: PayerLanguage, text: String) {
        let formatted = PayerMoney.text(amount, currency, in: language)
        // The kind of no-break space depends on the version of the locale data.
        let plain = formatted.map {
            String($0.map { $0 == "\u{A0}" || $0 == "\u{202F}" ? " " : $0 })
        }
        #expect(plain == text)
    }

    @Test("an amount in an invalid currency has no text")
    func nonsense() {
        for currency in [nil, "", "eu", "euro", "<b>", "ééé"] {
            #expect(PayerMoney.text(1, currency, in: .en) == nil)
        }
    }

    @Test(
        "the largest and the smallest amount have a text in every language",
        arguments: PayerLanguage.allCases
    )
    func largest(language: PayerLanguage) throws {
        for currency in ["eur", "jpy", "kwd"] {
            for number in [Int.max, .min] {
                let text = PayerMoney.text(Amount(clamping: number), currency, in: language)
                let digits = try #require(text).filter(\.isNumber)
                #expect(digits == "9007199254740991", "\(text ?? "")")
            }
        }
        for limit in [Timestamp.earliest, .latest] {
            #expect(PayerMoney.time(limit, in: language).hasSuffix("UTC"))
        }
    }

    @Test(
        "a negative or too large amount of an object is unknown",
        arguments: ["-9223372036854775808", "9223372036854775807", "-1", "1e308", "1e400", "1.5"]
    )
    func beyond(number: String) throws {
        let event = try #require(
            Event(
                json:
                    #"{"id":"evt_1","type":"http.paid","account":"default","source":"a","kind":"http","#
                    + #""seq":1,"run":1,"status":"paid","final":true,"closed_reason":"settled","#
                    + #""object":{"amount":\#(number),"currency":"eur"},"#
                    + #""observed":{"polled_at":"2026-11-20T09:30:00.125Z","lag_ms":3}}"#
            )
        )
        #expect(UpstreamObject(event).amount == nil)
    }

    @Test("an instant is written with its zone in its language")
    func times() {
        let at = Timestamp(ms: 1_795_000_000_000)
        #expect(PayerMoney.time(at, in: .en).contains("18 November 2026"))
        #expect(PayerMoney.time(at, in: .de).contains("18. November 2026"))
        #expect(PayerMoney.time(at, in: .pl).contains("18 listopada 2026"))
        for language in PayerLanguage.allCases {
            let text = PayerMoney.time(at, in: language)
            #expect(text.hasSuffix("11:06 UTC"), "\(text)")
        }
    }

    @Test(
        "a browser gets the supported language with its highest preference",
        arguments: [
            ("de", PayerLanguage.de), ("de-AT,de;q=0.9,en;q=0.8", .de), ("pt_BR", .pt),
            ("sv, fr;q=0.5, it;q=0.7", .it), ("en;q=0.5, nl", .nl), ("FR-ca", .fr),
            ("de;q=0, es;q=0.1", .es), ("de;q=x, es", .es), ("de;q=2, es", .es),
            (" pl ; q=0.4 , en ; q=0.3", .pl), ("fr, de", .fr),
        ]
    )
    func accepted(header: String, language: PayerLanguage) {
        #expect(PayerLanguage(acceptLanguage: header) == language)
    }

    @Test("without a preferred supported language, the account's language applies")
    func open() {
        for header in [nil, "", "*", "sv", "*, de;q=0.5", ";;;,,,", "de;q=0", "ende"] {
            #expect(PayerLanguage(acceptLanguage: header) == nil, "\(header ?? "nil")")
        }
        let many = Array(repeating: "sv", count: 100).joined(separator: ",") + ",de"
        #expect(PayerLanguage(acceptLanguage: many) == nil, "a header is not read for ever")
    }
}
