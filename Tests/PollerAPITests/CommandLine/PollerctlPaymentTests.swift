import PollerPayments
import PollerQueue
import PollerWatches
import Testing

@testable import PollerAPI

@Suite("pollerctl and payments")
struct PollerctlPaymentTests {
    @Test("wait --until paid waits for the payment state, not the status")
    func waitsForMoney() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.see("src_1", "chargeable", payment: .authorised)
            let late = try await Self.wait("paid", "--timeout", "50ms", url: api.url)
            #expect(late.status == 3)
            #expect(late.output == "src_1\tchargeable\tauthorised\n")
            async let waiting = Self.wait("paid", url: api.url)
            try await api.see("src_1", "consumed", final: true, payment: .refunded)
            let never = try await waiting
            #expect(never.status == 2, "\(never.output)")
            #expect(never.errors.contains("closed (settled) and is not paid"))
            #expect(try await Self.wait("payment.refunded", url: api.url).status == 0)
            // It was authorised earlier in this run.
            #expect(try await Self.wait("payment.authorised", url: api.url).status == 0)
            #expect(try await Self.wait("payment.gone", url: api.url).status == 64)
        }
    }

    @Test("without a payment, --until paid waits for the status")
    func paidAsStatus() async throws {
        try await LiveAPI.run { api in
            _ = try await api.post(
                "/v1/watches",
                #"{"source":"src_1","kind":"http","account":"b"}"#
            )
            let names = ["--account", "b", "--kind", "http"]
            try await api.see("src_1", "open")
            let late = try await Self.wait(["paid", "--timeout", "50ms"] + names, url: api.url)
            #expect(late.status == 3 && late.output == "src_1\topen\n", "\(late.output)")
            try await api.see("src_1", "paid", final: true)
            #expect(try await Self.wait(["paid"] + names, url: api.url).status == 0)
        }
    }

    @Test("get, list and events show the payment and the next step")
    func shown() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.enqueue("src_2")
            var account = NextStep.BankAccount(scheme: "iban")
            account.iban = "DE89370400440532013000"
            var transfer = NextStep.Transfer()
            transfer.accounts = [account]
            transfer.reference = "A77"
            try await api.see(
                "src_1",
                "pending",
                payment: .awaitingCustomer,
                step: .transfer(transfer)
            )
            let asked = try await CommandRun.pollerctl("get", "src_1", url: api.url)
            for line in [
                "next step    transfer", "iban DE89370400440532013000", "reference    A77",
            ] {
                #expect(asked.output.contains(line), "\(asked.output)")
            }
            try await api.see("src_1", "pending", of: .payment(.paid), payment: .paid)
            let shown = try await CommandRun.pollerctl("get", "src_1", url: api.url)
            #expect(shown.output.contains("payment     paid\nmoney       10.99 eur, ideal\n"))
            #expect(!shown.output.contains("next step"))

            let paid = try await CommandRun.pollerctl("list", "--payment", "paid", url: api.url)
            let rows = paid.output.split(separator: "\n").map { $0.split(separator: "\t") }
            #expect(rows.map(\.first) == ["src_1"] && rows.map { $0[6] } == ["paid"])
            let none = try await CommandRun.pollerctl("list", "--payment", "refunded", url: api.url)
            #expect(none.status == 0 && none.output.isEmpty)
            let wrong = try await CommandRun.pollerctl("list", "--payment", "gone", url: api.url)
            #expect(wrong.status == 64 && wrong.errors.contains("partially_refunded"))

            let events = try await CommandRun.pollerctl("events", "src_1", url: api.url)
            let printed = events.output.split(separator: "\n").map { row in
                Array(row.split(separator: "\t")[3...4])
            }
            #expect(
                printed == [
                    ["source.pending", "- → pending"], ["payment.paid", "10.99 eur, ideal"],
                ]
            )
        }
    }

    @Test("poll reports why a due watch waits for its lane")
    func obstacle() async throws {
        try await LiveAPI.run { api in
            try await api.enqueue("src_1")
            try await api.announce("worker", host: "box-1")
            // On a busy machine a poll may start late, which is reported too, so try several times.
            var free = ""
            for number in 1...5 where !free.contains("is due now") || free.contains("waits") {
                try await api.enqueue("src_free_\(number)")
                free = try await CommandRun.pollerctl("poll", "src_free_\(number)", url: api.url)
                    .output
            }
            #expect(free.contains("is due now") && !free.contains("waits"))
            try await api.work(on: "src_1") { lease, now in
                var state = lease.item.state
                state.attempts = 1
                state.lastPolledAt = now
                return Commit(
                    ref: lease.ref,
                    verdict: .next(after: .zero),
                    change: WatchChange(state: state, lastError: "no answer"),
                    signal: .refused(.seconds(60))
                )
            }
            let held = try await CommandRun.pollerctl("poll", "src_1", url: api.url)
            #expect(held.output.contains("is due now and waits: its lane"), "\(held.output)")
            #expect(held.output.contains("its circuit is open"))
            let got = try await CommandRun.pollerctl("get", "src_1", url: api.url)
            #expect(got.output.contains("no poll has succeeded yet"), "\(got.output)")
        }
    }

    @Test("an order ID in place of a source ID is recognised")
    func orderInstead() async throws {
        try await LiveAPI.run { api in
            let added = try await CommandRun.pollerctl(
                "enqueue",
                "src_1",
                "--order",
                "A77",
                url: api.url
            )
            #expect(added.status == 0, "\(added.errors)")
            try await api.see("src_1", "pending", payment: .awaitingCustomer)
            for command in ["get", "poll", "explain", "timeline"] {
                let typed = try await CommandRun.pollerctl(command, "A77", url: api.url)
                #expect(typed.status != 0)
                #expect(
                    typed.errors.contains(
                        "A77 is an order: pollerctl timeline --order A77; its payment is src_1"
                    ),
                    "\(command): \(typed.errors)"
                )
            }
            let nothing = try await CommandRun.pollerctl("get", "src_2", url: api.url)
            #expect(nothing.errors.contains("There is no watch of src_2"))
        }
    }

    private static func wait(_ until: String..., url: String) async throws -> CommandRun {
        try await wait(until, url: url)
    }

    private static func wait(_ until: [String], url: String) async throws -> CommandRun {
        try await CommandRun.run(["wait", "src_1", "--until"] + until, url: url)
    }
}
