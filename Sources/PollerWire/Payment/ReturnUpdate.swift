/// An update for the page that customers return to.
package struct ReturnUpdate: WireObject, Hashable {
    /// The payment state shown to the customer.
    package enum State: String, Word {
        case confirming, waiting, action, authorised, processing, confirmed, failed, expired
        case refunded, disputed, reversed, unknown
    }

    package var state = Open(State.unknown)
    package var seq = 0
    package var title = ""
    package var text = ""
    package var payment: Payment?
    package var nextStep: NextStep?
    package var view = ""
    package var isDone = false

    package init() {}

    package static let shape = Shape<ReturnUpdate>("ReturnUpdate") {
        Field("state", \.state)
        Field("seq", \.seq)
        Field("title", \.title)
        Field("text", \.text)
        Field("payment", \.payment)
        Field("next_step", \.nextStep).note("Left out if the payer has nothing to do.")
        Field("view", \.view)
            .note("A version of the page's content. It changes when the page shows something else.")
        Field("done", \.isDone)
    }
}
