import pollerctl

await Pollerctl.main()
