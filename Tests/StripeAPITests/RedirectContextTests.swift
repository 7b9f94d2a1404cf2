import Foundation
import StripeAPI
import Synchronization
import Testing

@Suite struct RedirectContextTests {
    /// A browser that records its calls; a class, so that the context and the test share it.
    private final class Browser: RedirectOpener {
        let calls = Mutex<[String]>([])
        let hasApp: Bool
        let hasPages: Bool

        init(hasApp: Bool = false, hasPages: Bool = true) {
            self.hasApp = hasApp
            self.hasPages = hasPages
        }

        var log: [String] { calls.withLock { $0 } }

        func openApp(_ nativeURL: String) async -> Bool {
            calls.withLock { $0.append("app \(nativeURL)") }
            return hasApp
        }

        func openPage(_ webURL: String, in browser: RedirectBrowser) async -> Bool {
            calls.withLock { $0.append("\(browser) \(webURL)") }
            return hasPages
        }

        func dismiss() async {
            calls.withLock { $0.append("dismiss") }
        }
    }

    /// Records the calls of a completion.
    private final class CompletionRecorder: Sendable {
        let all = Mutex<[RedirectError?]>([])

        var count: Int { all.withLock { $0.count } }
        var last: RedirectError? { all.withLock { $0.last } ?? nil }
    }

    private static let redirect = """
        "flow":"redirect","redirect":{"url":"https://pay.stripe.com/x","return_url":"shop://back?a=1",
        "status":"pending"}
        """

    private func context(
        _ browser: Browser,
        _ ends: CompletionRecorder,
        _ source: Source = .test("pending", type: "ideal", redirect),
        clock: any Clock<Duration> = TestClock()
    ) throws -> RedirectContext {
        try #require(
            RedirectContext(source: source, opener: browser, clock: clock) { id, secret, error in
                #expect(id == "src_1")
                #expect(secret?.rawValue == "src_client_secret_x")
                ends.all.withLock { $0.append(error) }
            }
        )
    }

    @Test(
        "a source without a redirect is rejected",
        arguments: [
            (Source.test("pending", type: "ideal", redirect), true),
            (.test("chargeable", type: "ideal", redirect), true),
            (.test("consumed", type: "ideal", redirect), false),
            (.test("failed", type: "ideal", redirect), false),
            (.test("pending", type: "ideal", #""flow":"redirect""#), false),
            (.test("pending", type: "card", #""flow":"none""#), false),
            (
                .test(
                    "pending",
                    type: "wechat",
                    #""flow":"none","wechat":{"ios_native_url":"w://x"}"#
                ),
                true
            ),
            (
                .test(
                    "pending",
                    type: "wechat",
                    #""flow":"none","wechat":{"qr_code_url":"w://x"}"#
                ), false
            ),
        ]
    )
    func refusal(source: Source, isAccepted: Bool) {
        let context = RedirectContext(source: source, opener: Browser()) { _, _, _ in }
        #expect((context != nil) == isAccepted)
        #expect(context == nil || context?.state == .notStarted)
    }

    @Test("an intent needs status requires_action and two URLs")
    func intents() throws {
        func action(_ url: String, _ returnURL: String) -> String {
            #""next_action":{"type":"redirect_to_url","redirect_to_url":{"url":"\#(url)","return_url":"\#(returnURL)"}}"#
        }
        let (page, back) = ("https://pay.stripe.com/x?a=%20", "shop://back")
        let half =
            #""next_action":{"type":"redirect_to_url","redirect_to_url":{"url":"https://pay.stripe.com/x"}}"#
        let other = #""next_action":{"type":"use_stripe_sdk","use_stripe_sdk":{}}"#
        for (status, more, isAccepted) in [
            ("requires_action", action(page, back), true),
            ("processing", action(page, back), false),
            ("requires_action", action(page, "com.shop-1:back"), true),
            ("requires_action", action("not a valid URL", back), false),
            ("requires_action", action(page, "not a url"), false),
            ("requires_action", action("/x", back), false),
            ("requires_action", action(page, ""), false),
            ("requires_action", action("https:", back), false),
            ("requires_action", action("https://pay.stripe.com/<x>", back), false),
            ("requires_action", action(page, "1shop://back"), false),
            ("requires_action", half, false), ("requires_action", other, false),
        ] {
            let json = Data(#"{"id":"pi_1","status":"\#(status)","livemode":false,\#(more)}"#.utf8)
            let payment = try JSONDecoder().decode(PaymentIntent.self, from: json)
            let setup = try JSONDecoder().decode(SetupIntent.self, from: json)
            let contexts = [
                RedirectContext(paymentIntent: payment, opener: Browser()) { _, _, _ in },
                RedirectContext(setupIntent: setup, opener: Browser()) { _, _, _ in },
            ]
            #expect(contexts.allSatisfy { ($0 != nil) == isAccepted })
        }
    }

    @Test("WeChat returns by the app ID's scheme or by the return URL")
    func weChatReturn() async throws {
        let link = "weixin://app/wxa0df51ec63e578ce/pay/?nonceStr=x&package=Sign%3DWXPay"
        for (address, isReturn) in [
            ("wxa0df51ec63e578ce://pay/?ret=0", true), ("WXA0DF51EC63E578CE://pay/", true),
            ("shop://back?a=1&source=src_1", true), ("wx0000000000000000://pay/", false),
            ("wxa0df51ec63e578ce://oauth/", false), ("weixin://app/", false),
        ] {
            let ends = CompletionRecorder()
            let source = Source.test(
                "pending",
                type: "wechat",
                Self.redirect + #","wechat":{"ios_native_url":"\#(link)"}"#
            )
            let context = try context(Browser(hasApp: true), ends, source)
            await context.startRedirectFlow()
            #expect(await context.handle(returnURL: address) == isReturn, "\(address)")
            #expect(ends.count == (isReturn ? 1 : 0))
        }
        // Without a `redirect` hash, as Stripe sends it.
        let source = Source.test(
            "pending",
            type: "wechat",
            #""flow":"none","wechat":{"ios_native_url":"\#(link)"}"#
        )
        let context = try context(Browser(hasApp: true), CompletionRecorder(), source)
        await context.startRedirectFlow()
        #expect(await context.handle(returnURL: "wxa0df51ec63e578ce://pay/?ret=0"))
    }

    @Test("a source with invalid URLs is rejected")
    func sourceAddresses() {
        let redirect =
            #""flow":"redirect","redirect":{"url":"not a url","return_url":"shop://back","status":"pending"}"#
        let source = Source.test("pending", type: "ideal", redirect)
        #expect(RedirectContext(source: source, opener: Browser()) { _, _, _ in } == nil)
    }

    @Test("the page is shown once, and the return URL completes the redirect once")
    func returnURL() async throws {
        let (browser, ends) = (Browser(), CompletionRecorder())
        let context = try context(browser, ends)
        #expect(await !context.handle(returnURL: "shop://back?a=1"))
        await context.startRedirectFlow()
        await context.startRedirectFlow()
        #expect(context.state == .inProgress)
        #expect(await !context.handle(returnURL: "shop://elsewhere?a=1"))
        #expect(await context.handle(returnURL: "SHOP://BACK?a=1&source=src_1"))
        #expect(await !context.handle(returnURL: "shop://back?a=1"))
        await context.browserDidClose()
        #expect(context.state == .completed)
        #expect(ends.count == 1)
        #expect(ends.last == nil)
        #expect(browser.log == ["inApp https://pay.stripe.com/x", "dismiss"])
    }

    @Test("Alipay's app is tried first, and the page is shown if it does not open")
    func nativeApp() async throws {
        let alipay = Source.test(
            "pending",
            type: "alipay",
            Self.redirect + #","alipay":{"native_url":"alipay://x"}"#
        )
        let with = Browser(hasApp: true)
        await (try context(with, CompletionRecorder(), alipay)).startRedirectFlow()
        #expect(with.log == ["app alipay://x"])
        let without = Browser()
        await (try context(without, CompletionRecorder(), alipay)).startRedirectFlow()
        #expect(without.log == ["app alipay://x", "inApp https://pay.stripe.com/x"])
    }

    @Test("WeChat without its app fails, because it has no page")
    func weChat() async throws {
        let weChat = Source.test(
            "pending",
            type: "wechat",
            Self.redirect + #","wechat":{"ios_native_url":"weixin://x"}"#
        )
        let ends = CompletionRecorder()
        let context = try context(Browser(), ends, weChat)
        await context.startRedirectFlow()
        #expect(ends.last == .appRedirectFailed)
        #expect(context.state == .completed)
    }

    @Test(
        "becoming active completes a redirect that left the app, after waiting for the return URL"
    )
    func becomesActive() async throws {
        let ends = CompletionRecorder()
        let clock = TestClock()
        let outside = try context(Browser(), ends, clock: clock)
        await outside.start(in: .system)
        await outside.appDidBecomeActive()
        #expect(outside.state == .completed)
        #expect(ends.count == 1)
        #expect(clock.slept == [.milliseconds(100)])
        let inside = try context(Browser(), ends)
        await inside.start(in: .inApp)
        await inside.appDidBecomeActive()
        #expect(inside.state == .inProgress)
    }

    @Test(
        "closing the browser is a cancellation, a failed load of Stripe's page a connection error"
    )
    func closing() async throws {
        let ends = CompletionRecorder()
        let closed = try context(Browser(), ends)
        await closed.start(in: .inApp)
        await closed.browserDidClose()
        #expect(ends.last == .cancellation)
        let failed = try context(Browser(), ends)
        await failed.start(in: .inApp)
        await failed.initialLoadDidFail(lastHost: "bank.example")
        await failed.initialLoadDidFail(lastHost: "notstripe.com")
        #expect(failed.state == .inProgress)
        await failed.initialLoadDidFail(lastHost: "Hooks.Stripe.com")
        #expect(ends.last == .connection)
        let unshown = try context(Browser(hasPages: false), ends)
        await unshown.start(in: .system)
        #expect(ends.last == .openFailed)
    }

    @Test("cancel dismisses the page without a completion, and only while in progress")
    func cancel() async throws {
        let (browser, ends) = (Browser(), CompletionRecorder())
        let context = try context(browser, ends)
        await context.cancel()
        #expect(context.state == .notStarted)
        await context.start(in: .inApp)
        await context.cancel()
        #expect(context.state == .cancelled)
        await context.browserDidClose()
        #expect(await !context.handle(returnURL: "shop://back?a=1"))
        await context.start(in: .inApp)
        #expect(browser.log.count == 2)
        #expect(ends.count == 0)
    }

    @Test("releasing a redirect in progress dismisses its page without a completion")
    func deallocation() async throws {
        let (idle, ended, left, ends) = (Browser(), Browser(), Browser(), CompletionRecorder())
        do { _ = try context(idle, ends) }
        do {
            let context = try context(ended, ends)
            await context.start(in: .inApp)
            await context.browserDidClose()
        }
        do {
            let context = try context(left, ends)
            await context.start(in: .inApp)
        }
        #expect(await eventually { left.log.last == "dismiss" })
        #expect(ends.count == 1)
        #expect(idle.log.isEmpty)
        #expect(ended.log.filter { $0 == "dismiss" }.count == 1)
    }

    @Test("redirects in progress are retained until they have ended")
    func retained() async throws {
        let (browser, ends, contexts) = (Browser(), CompletionRecorder(), RedirectContexts())
        do {
            let context = try context(browser, ends)
            await context.start(in: .inApp)
            contexts.add(context)
        }
        #expect(browser.log.count == 1)
        #expect(await contexts.handle(returnURL: "shop://back?a=1"))
        #expect(ends.count == 1)
    }

    @Test("if no app opens, the page is shown in the requested browser")
    func chosenBrowser() async throws {
        let (browser, ends) = (Browser(), CompletionRecorder())
        let context = try context(browser, ends)
        await context.startRedirectFlow(pageIn: .system)
        #expect(browser.log == ["system https://pay.stripe.com/x"])
        await context.appDidBecomeActive()
        #expect(context.state == .completed)
        #expect(ends.count == 1)
    }

    @Test("a redirect to a payment app completes when the app becomes active again")
    func returnFromApp() async throws {
        let alipay = Source.test(
            "pending",
            type: "alipay",
            Self.redirect + #","alipay":{"native_url":"alipay://x"}"#
        )
        let ends = CompletionRecorder()
        let context = try context(Browser(hasApp: true), ends, alipay)
        await context.startRedirectFlow()
        await context.appDidBecomeActive()
        #expect(context.state == .completed)
        #expect(ends.last == nil)
    }

    @Test("a URL is passed to every matching redirect")
    func contexts() async throws {
        let ends = CompletionRecorder()
        let contexts = RedirectContexts()
        for _ in 1...2 {
            let context = try context(Browser(), ends)
            await context.start(in: .system)
            contexts.add(context)
        }
        #expect(await contexts.handle(returnURL: "shop://back?a=1"))
        #expect(ends.count == 2)
        #expect(await !contexts.handle(returnURL: "shop://back?a=1"))
    }
}
