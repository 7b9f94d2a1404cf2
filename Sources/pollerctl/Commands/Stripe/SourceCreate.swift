import ArgumentParser
import StripeAPI

/// `pollerctl source create`: a source of any payment method.
struct SourceCreate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a source and say what the customer must do next.",
        discussion: """
            TYPE is \(SourceMethod.allCases.map(\.rawValue).joined(separator: ", ")), or any other \
            type that Stripe knows. Each needs some of the options below and says so.

            pollerctl source create ideal --amount 1099 --return-url https://pay.example/r --follow
            """
    )

    @Argument(help: "The payment method.")
    var type: String

    @Option(help: "NAME=VALUE to keep with the source; may be repeated.")
    var metadata: [NameValue] = []

    @Option(help: "Any other field of Stripe's, as ach_debit[country]=US; may be repeated.")
    var param: [NameValue] = []

    @OptionGroup var fields: SourceFields
    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func validate() throws {
        _ = try params()
    }

    func run() async throws {
        let form = try params().form + param.map { ($0.name, $0.value) }
        let source = try await stripe.perform { client throws(StripeError) in
            try await client.createSource(form, idempotencyKey: stripe.idempotencyKey)
        }
        try source.show(json: watching.server.json)
        try await watching.run(source.id, secret: source.clientSecret)
    }

    private func params() throws -> SourceParams {
        if let amount = fields.amount, amount <= 0 {
            throw ValidationError("--amount must be positive, in the currency's smallest unit")
        }
        var params: SourceParams
        if let method = SourceMethod(rawValue: type) {
            params = try method.params(fields)
        } else {
            let isWord = type.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x5F
            }
            guard isWord, !type.isEmpty else {
                throw ValidationError("TYPE is a payment method such as ideal, not \(type)")
            }
            params = try fields.params(type: type)
        }
        params.metadata = metadata.dictionary
        return params
    }
}
