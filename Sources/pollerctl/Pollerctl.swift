import ArgumentParser

/// `pollerctl`: the operator's hand, over HTTP only.
@main
struct Pollerctl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pollerctl",
        abstract: "Watch payment sources and see what becomes of them.",
        discussion: """
            POLLER_URL names the server (default http://127.0.0.1:8080), POLLER_API_KEY one of \
            its keys. Tables and colour appear on a terminal only; NO_COLOR turns colour off, \
            --json prints what the server sent.

            Exit status: 0 success, 1 the request failed, 64 wrong usage, 69 server unreachable, \
            77 not allowed. wait: 2 closed otherwise, 3 timed out.
            """,
        subcommands: [
            Enqueue.self, Get.self, List.self, Follow.self, Wait.self, Poll.self, Cancel.self,
            Events.self, Explain.self, OrderCommand.self, EndpointCommand.self,
            DeliveryCommand.self, KeyCommand.self,
            LaneCommand.self, QuarantineCommand.self, WorkerCommand.self, ShowStats.self, Top.self,
            Doctor.self, SourceCommand.self, IntentCommand.self, SetupCommand.self,
            RefundCommand.self, DisputeCommand.self, StripeCommand.self, Reconcile.self,
        ]
    )
}
