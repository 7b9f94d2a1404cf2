package import Poller

/// When Stripe itself cancels a source that keeps its status, by payment method.
///
/// | type | pending | chargeable |
/// |---|---|---|
/// | bancontact, giropay, ideal, sofort, p24 | 1 h | 6 h |
/// | alipay, wechat | 1 h | 6 h, or 23:45 in China if that is earlier |
/// | multibanco | 7 d | 6 h |
/// | any other, and every reusable source | – | – |
///
/// For eps, three_d_secure and klarna nothing is documented, and for methods nobody has heard of
/// nothing is known: without an entry the watch's own deadline holds, since closing too early
/// would lose a payment and looking too long costs a few reads. An operator adds entries by
/// `source_expiry`. *Source*: <doc:StripeFacts>.
package struct SourceExpiry: Hashable, Sendable {
    /// How long a source lives in each status.
    fileprivate struct Life: Hashable, Sendable {
        var pending: Duration?
        var chargeable: Duration?
    }

    private var lives: [String: Life]

    /// What Stripe documents.
    package static let documented = SourceExpiry(
        lives: [
            "bancontact": .redirect, "giropay": .redirect, "ideal": .redirect,
            "sofort": .redirect, "p24": .redirect, "alipay": .redirect, "wechat": .redirect,
            "multibanco": Life(pending: .seconds(7 * 86_400), chargeable: .seconds(6 * 3600)),
        ]
    )

    /// Methods that settle within a day of China's, which ends for them at 23:45 (GMT+8).
    private static let methodsOfChina: Set<String> = ["alipay", "wechat"]

    private init(lives: [String: Life]) {
        self.lives = lives
    }

    /// The documented table with an operator's changes.
    ///
    /// *Shape*: `eps=1h/6h,klarna=2d/6h`: what pending and chargeable live; `-` for no end.
    package init(changes text: String) throws(InvalidInput) {
        self = .documented
        for entry in text.split(separator: ",") {
            let sides = entry.filter { $0 != " " }.split(separator: "=")
            let spans = sides.count == 2 ? sides[1].split(separator: "/") : []
            guard spans.count == 2 else { throw Self.invalid(entry) }
            lives[sides[0].lowercased()] = Life(
                pending: try Self.span(spans[0], entry),
                chargeable: try Self.span(spans[1], entry)
            )
        }
    }

    /// The latest instant at which an object keeps its status; nil when there is none.
    ///
    /// When a source became chargeable it does not tell: at the latest when it would have ceased
    /// to be pending.
    func expiresAt(_ facts: ObjectFacts, of kind: SourceKind, now: Timestamp) -> Timestamp? {
        guard kind == .source, facts.usage?.lowercased() != "reusable",
            let type = facts.type?.lowercased(), let life = lives[type],
            let created = facts.created, (0...Self.createdMax).contains(created)
        else { return nil }
        let start = Timestamp(ms: created * 1000)
        switch facts.status?.lowercased() {
        case "pending": return life.pending.map { start + $0 }
        case "chargeable":
            guard let chargeable = life.chargeable else { return nil }
            let end = start + (life.pending ?? .zero) + chargeable
            return Self.methodsOfChina.contains(type) ? min(end, Self.nextClose(after: now)) : end
        default: return nil
        }
    }

    /// The year 9999: times beyond are a mistake, and must not overflow.
    private static let createdMax: Int64 = 253_402_300_799

    /// The next 23:45 in China, which is 15:45 UTC the whole year.
    private static func nextClose(after now: Timestamp) -> Timestamp {
        let day: Int64 = 86_400_000
        let close: Int64 = (15 * 60 + 45) * 60_000
        let today = now.ms / day * day + close
        return Timestamp(ms: today >= now.ms ? today : today + day)
    }

    private static func span(
        _ text: Substring,
        _ entry: Substring
    ) throws(InvalidInput) -> Duration? {
        if text == "-" { return nil }
        guard let span = Duration(text: String(text)), span > .zero, span <= .seconds(90 * 86_400)
        else { throw invalid(entry) }
        return span
    }

    private static func invalid(_ entry: Substring) -> InvalidInput {
        InvalidInput(
            field: "source_expiry",
            message: "\(entry.prefix(64)) is no entry: write type=pending/chargeable as eps=1h/6h"
        )
    }
}

extension SourceExpiry.Life {
    /// What most methods with a redirect have.
    fileprivate static let redirect = Self(pending: .seconds(3600), chargeable: .seconds(6 * 3600))
}
