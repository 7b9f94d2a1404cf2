import Foundation
import Poller

/// What a mail shows of the upstream's object, as far as that is known.
struct MailPayment: Hashable, Sendable {
    /// `10.99 EUR`; nil when the object names no amount.
    let amount: String?
    /// Whether the object says that no real money is meant.
    let isTest: Bool
    /// Whether the object, an intent, names an error of its last try.
    let hasFailed: Bool

    /// Reads the object of an event; one that is absent or of another kind shows nothing.
    init(_ event: Event) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(event.json.utf8)),
            let object = wire.object
        else {
            (amount, isTest, hasFailed) = (nil, false, false)
            return
        }
        isTest = object.livemode == false
        hasFailed = object.paymentError != nil || object.setupError != nil
        amount = object.amount.flatMap { amount in
            object.currency.flatMap { Self.text(amount, $0) }
        }
    }

    /// An amount in the smallest unit as people write it; nil when that is no currency.
    ///
    /// *Source*: <https://docs.stripe.com/currencies#zero-decimal>, and the three-decimal ones below it.
    static func text(_ amount: Int, _ currency: String) -> String? {
        guard currency.utf8.count == 3,
            currency.utf8.allSatisfy({ (0x61...0x7A).contains($0 | 0x20) }), amount >= 0
        else { return nil }
        let code = currency.uppercased()
        let decimals = whole.contains(code) ? 0 : thousandths.contains(code) ? 3 : 2
        guard decimals > 0 else { return "\(amount) \(code)" }
        let digits = String(amount)
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        return "\(padded.dropLast(decimals)).\(padded.suffix(decimals)) \(code)"
    }

    /// The colour of text that can be read on `colour`, `#rrggbb`.
    ///
    /// White wherever its contrast is 4.5 : 1 (WCAG 2.2, 1.4.3), black on what is lighter.
    static func ink(on colour: String) -> String {
        let value = Int(colour.dropFirst(), radix: 16) ?? 0
        let parts = [value >> 16 & 255, value >> 8 & 255, value & 255].map { part in
            let share = Double(part) / 255
            return share <= 0.03928 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4)
        }
        let luminance = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        return 1.05 / (luminance + 0.05) >= 4.5 ? "#ffffff" : "#000000"
    }

    private static let whole: Set<String> = [
        "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "UGX", "VND", "VUV",
        "XAF", "XOF", "XPF",
    ]
    private static let thousandths: Set<String> = ["BHD", "JOD", "KWD", "OMR", "TND"]

    private struct Wire: Decodable {
        let object: Object?
    }

    private struct Object: Decodable {
        let amount: Int?
        let currency: String?
        let livemode: Bool?
        let paymentError: Failure?
        let setupError: Failure?

        struct Failure: Decodable {}

        enum CodingKeys: String, CodingKey {
            case amount, currency, livemode
            case paymentError = "last_payment_error"
            case setupError = "last_setup_error"
        }
    }
}
