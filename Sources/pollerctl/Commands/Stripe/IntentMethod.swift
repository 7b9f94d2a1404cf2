import ArgumentParser
import StripeAPI

/// How an intent is paid.
struct IntentMethod: ParsableArguments {
    @Option(help: "A payment method described by its type alone, such as ideal.")
    var method: String?

    @Option(help: "A payment method that exists, pm_….")
    var paymentMethod: String?

    @Option(
        name: .customLong("return-url"),
        help: "Where the customer comes back to, such as https://pay.example/r."
    )
    var returnURL: String?

    /// Whether a method was named.
    var isGiven: Bool { method != nil || paymentMethod != nil }

    func validate() throws {
        guard method == nil || paymentMethod == nil else {
            throw ValidationError("give --method or --payment-method, not both")
        }
    }

    /// Sets what was given.
    func apply(to params: inout PaymentIntentParams) {
        params.paymentMethod = paymentMethod
        if let method { params.paymentMethodData = ["type": .string(method)] }
        params.returnURL = returnURL
    }
}
