/// The subject of a hint, which determines the closed watches that it reopens.
///
/// | hint | reopens watches closed as |
/// |---|---|
/// | anything | `expired`, `gone` |
/// | outcome: a bank has answered | the same; and `settled`, `reached` while no money was observed |
/// | money: refunds, disputes, a hold that ended | the same; and `settled`, `reached` in any case |
///
/// The last two apply only if the watch has payment facts (``Watch/payment``). Such a review is a single poll: it
/// reports a change of the payment, or nothing, and closes with its earlier reason.
package enum HintTopic: Hashable, Sendable, CaseIterable {
    case anything
    case outcome
    case money
}
