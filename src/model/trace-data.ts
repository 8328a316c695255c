export interface TraceData { readonly rows: number }
