import ArgumentParser
import StripeAPI

/// `pollerctl source verify`: the code or the amounts a source asks for.
struct SourceVerify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Answer what a source with code verification asks for.",
        discussion: """
            With micro-deposits the two amounts in cents: pollerctl source verify src_… 32 45. \
            A wrong answer leaves fewer attempts; with none left the source fails for good. Exit \
            status 1 when it was not accepted.
            """
    )

    @Argument(help: "The id, src_….")
    var source: String

    @Argument(help: "The code, or the amounts.")
    var values: [String]

    @OptionGroup var stripe: StripeOptions
    @OptionGroup var watching: WatchOptions

    func validate() throws {
        guard !values.isEmpty else { throw ValidationError("give the code, or two amounts") }
    }

    func run() async throws {
        let verified = try await stripe.perform { client throws(StripeError) in
            do throws(StripeError) {
                return try await client.verifySource(
                    source,
                    values: values,
                    idempotencyKey: stripe.idempotencyKey
                )
            } catch {
                // What a wrong answer leaves is worth more than the refusal alone.
                guard error.status == 400 || error.status == 402,
                    let left = try? await client.retrieveSource(source)
                else { throw error }
                Terminal.printError("\(source): \(left.advice.text)")
                throw error
            }
        }
        try verified.show(json: watching.server.json)
        guard verified.verification?.status == .succeeded || verified.status == .chargeable else {
            throw ExitCode(1)
        }
        try await watching.run(verified.id, secret: verified.clientSecret)
    }
}
